#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::message_of;
using test::run_layer;

namespace {

auto times(double factor) {
  return glia::lambda{glia::text("times ", factor), [factor](auto x) { return x * factor; }};
}

}  // namespace

TEST_CASE("branches see the same input and are joined") {
  const glia::shape batch{2, 2};
  const std::vector<float> x{1, 2, 3, 4};
  CHECK(run_layer(glia::parallel{times(1), times(10)}, batch, x, {}) ==
        std::vector<float>{1, 2, 10, 20, 3, 4, 30, 40});
  CHECK(run_layer(glia::parallel{glia::join::add{}, times(1), times(10), times(100)}, batch, x,
                  {}) == std::vector<float>{111, 222, 333, 444});
  CHECK(run_layer(glia::parallel{glia::join::multiply{}, times(2), times(3)}, batch, x, {}) ==
        std::vector<float>{6, 24, 54, 96});
  const glia::join::lambda difference{"difference", [](const auto& y) { return y[0] - y[1]; }};
  CHECK(run_layer(glia::parallel{difference, times(3), times(1)}, batch, x, {}) ==
        std::vector<float>{2, 4, 6, 8});
  // Along the rows of images.
  CHECK(run_layer(glia::parallel{glia::join::concat{.axis = 1}, times(1), times(2)}, {1, 2, 1, 1},
                  {1, 2}, {}) == std::vector<float>{1, 2, 2, 4});
  // One branch is itself.
  CHECK(run_layer(glia::parallel{times(2)}, batch, x, {}) == std::vector<float>{2, 4, 6, 8});
}

TEST_CASE("branches are named, counted and compared as other layers are") {
  const glia::parallel inception{
      glia::conv2d{2, 1},
      glia::sequential{glia::conv2d{.filters = 3, .kernel_size = 1, .activation = glia::relu},
                       glia::conv2d{.filters = 4, .kernel_size = 3, .padding = glia::same}}};
  glia::model net{glia::sequential{inception, glia::flatten{}, glia::dense{2}}, {4, 4, 3}};
  CHECK(net.parameters()[0].spec.name == "conv2d_0.kernel");
  CHECK(net.parameters()[4].spec.name == "conv2d_2.kernel");
  CHECK(net.parameters()[6].spec.shape == glia::shape{4 * 4 * 6, 2});
  CHECK(glia::text(inception) ==
        "parallel(concat, conv2d(2, 1x1, valid), sequential(conv2d(3, 1x1, valid, relu), "
        "conv2d(4, 3x3, same)))");
  CHECK(inception == inception);
  CHECK(glia::parallel{times(2)} == glia::parallel{times(2)});
  CHECK(glia::parallel{times(2)} != glia::parallel{times(3)});
}

TEST_CASE("branches have the right gradients, one within another") {
  const glia::join::lambda gated{"gated",
                                 [](const auto& y) { return y[0] * glia::ops::sigmoid(y[1]); }};
  const glia::sequential nested{
      glia::parallel{glia::dense{3, glia::tanh},
                     glia::parallel{glia::join::multiply{}, glia::dense{2, glia::sigmoid},
                                    glia::dense{2, glia::tanh}},
                     glia::identity{}},
      glia::parallel{glia::join::add{}, glia::dense{4}, glia::dense{4, glia::tanh}},
      glia::parallel{gated, glia::dense{3}, glia::dense{3}}};
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), nested, {{3, 5}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("a network of branches trains to the same bits on any number of threads") {
  const auto trained = [](std::size_t threads) {
    const glia::sequential network{
        glia::parallel{glia::dense{8, glia::relu},
                       glia::sequential{glia::dense{6, glia::tanh}, glia::dense{8}}},
        glia::parallel{glia::join::add{}, glia::dense{8}, glia::dense{8, glia::relu}},
        glia::dense{4}};
    glia::model net{network, {2}, glia::cpu<float>{{.threads = threads}}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.02}};
    const glia::history h =
        trainer.fit(test::quadrants{400}, {.epochs = 20, .batch_size = 50, .progress = nullptr});
    CHECK(h.epochs.back().training.metric_values.at(0) > 0.95);
    return test::parameters_of(net);
  };
  const std::vector<float> expected = trained(1);
  CHECK(expected == trained(2));
  CHECK(expected == trained(3));
}

TEST_CASE("branches that do not fit together say which, where") {
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{
              glia::sequential{glia::parallel{glia::join::add{}, glia::dense{3}, glia::dense{2}}},
              {2}};
        }) ==
        "sequential[0] parallel(add, dense(3), dense(2)): expected branches with outputs of the "
        "same shape, since they are added or multiplied; branch [0] ends in (N, 3), branch [1] in "
        "(N, 2)");
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::parallel{glia::conv2d{2, 1}, glia::conv2d{2, 2}}},
                          {4, 4, 3}};
        }) ==
        "sequential[0] parallel(concat, conv2d(2, 1x1, valid), conv2d(2, 2x2, valid)): expected "
        "branches that differ only along axis -1, since they are concatenated; branch [0] ends in "
        "(N, 4, 4, 2), branch [1] in (N, 3, 3, 2)");
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{
              glia::sequential{glia::parallel{glia::join::concat{.axis = 0}, glia::dense{3}}}, {2}};
        }) ==
        "sequential[0] parallel(concat along 0, dense(3)): cannot concatenate branches with "
        "outputs (N, 3) along axis 0; expected an axis from 1 to 1, or -1 for the last one");
  CHECK(message_of<glia::shape_error>([] {
          glia::model net{
              glia::sequential{glia::parallel{
                  glia::dense{3}, glia::sequential{glia::dense{4}, glia::conv2d{1, 1}}}},
              {2}};
        }) ==
        "sequential[0] parallel[1] sequential[1] conv2d(1, 1x1, valid): expected images (N, H, W, "
        "C), got (N, 4); add reshape{{H, W, C}} before it");
}
