#include <atomic>
#include <glia/testing/values.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// Passes its input on and remembers the largest batch that it saw.
struct watcher {
  std::shared_ptr<std::atomic<std::size_t>> largest = std::make_shared<std::atomic<std::size_t>>(0);

  static constexpr bool treats_samples_alone(glia::run_mode) { return true; }

  template <glia::backend B>
  [[nodiscard]] glia::variable<B> operator()(glia::scope<B>&, glia::variable<B> x) const {
    for (std::size_t seen = *largest; seen < x.shape()[0];) {
      largest->compare_exchange_weak(seen, x.shape()[0]);
    }
    return x;
  }
  [[nodiscard]] static std::string description() { return "watcher"; }
};

/// Throws for one of the samples.
struct thrower {
  static constexpr bool treats_samples_alone(glia::run_mode) { return true; }

  template <glia::backend B>
  [[nodiscard]] glia::variable<B> operator()(glia::scope<B>& s, glia::variable<B> x) const {
    s.expect(s.first_sample() == 0, "sample ", s.first_sample(), " is not to its taste");
    return x;
  }
  [[nodiscard]] static std::string description() { return "thrower"; }
};

/// Convolutions of every kind, nested and residual, before and after a batch normalisation, with
/// dropout on both sides, behind a dense layer so that the first stretch has an input gradient.
auto description() {
  using namespace glia;
  const auto same3 = [](std::size_t filters, std::size_t groups) {
    return conv2d{
        .filters = filters, .kernel = 3, .padding = same, .groups = groups, .activation = relu};
  };
  return sequential{
      dense{9 * 10 * 2, glia::tanh},
      reshape{{9, 10, 2}},
      sequential{conv2d{.filters = 16, .kernel = 2, .padding = same, .activation = relu},
                 max_pool2d{}, dropout{0.3}},
      residual{sequential{same3(16, 1), same3(16, 16)}},
      conv2d{.filters = 8, .kernel = 1},
      max_pool2d{},
      batch_norm{},
      same3(8, 2),
      avg_pool2d{},
      dropout{0.2},
      flatten{},
      dense{3}};
}

struct outcome {
  std::vector<float> output;
  std::vector<std::vector<float>> gradients;
};

/// One forward and backward pass in training.
template <class Description>
outcome pass(const Description& layers, const glia::shape& sample, std::size_t samples,
             std::size_t threads, bool depth_first) {
  using B = glia::cpu<float>;
  const B device({.threads = threads});
  glia::model net{layers, sample, device, {.seed = 3, .depth_first = depth_first}};
  glia::tape<B> record(device);
  std::vector<glia::gradient_slot> slots;
  const glia::shape batch = glia::batch_of(samples, sample);
  const auto x = record.leaf(test::tensor_of(device, batch, glia::testing::test_values(batch, 1)));
  const auto y = net.forward(x, slots, glia::run_mode::training, {.seed = 7, .step = 2});
  // Not all outputs alike, as their gradients then cancel behind a batch normalisation.
  const auto weights =
      record.constant(test::tensor_of(device, y.shape(), glia::testing::test_values(y.shape(), 2)));
  record.backward(glia::ops::sum(y * weights));
  outcome result{test::values_of(device, y.value()), {}};
  for (const glia::gradient_slot slot : slots) {
    if (slot) {
      result.gradients.push_back(test::values_of(device, record.take_gradient(slot)));
    }
  }
  result.gradients.push_back(test::values_of(device, record.take_gradient(x.slot())));
  return result;
}

/// The largest difference of two gradients, relative to the largest element of each parameter's.
double relative_distance(const outcome& a, const outcome& b) {
  double worst =
      a.gradients.size() == b.gradients.size() ? test::distance(a.output, b.output) : INFINITY;
  for (std::size_t i = 0; i < a.gradients.size() && i < b.gradients.size(); ++i) {
    double largest = 0;
    for (const float value : a.gradients[i]) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    CHECK(largest > 0);
    worst = std::max(worst, test::distance(a.gradients[i], b.gradients[i]) / largest);
  }
  return worst;
}

}  // namespace

TEST_CASE("depth-first on and off give the same numbers, each the same bits on 1, 2, 3 threads") {
  // 37 samples: lanes of two and three, and pieces that do not fill.
  const outcome on = pass(description(), {12}, 37, 1, true);
  const outcome off = pass(description(), {12}, 37, 1, false);
  CHECK(on.gradients.size() == 17);
  CHECK(relative_distance(off, on) < 1e-5);
  for (const std::size_t threads : {std::size_t{2}, std::size_t{3}}) {
    const outcome same_on = pass(description(), {12}, 37, threads, true);
    const outcome same_off = pass(description(), {12}, 37, threads, false);
    CHECK(same_on.output == on.output);
    CHECK(same_on.gradients == on.gradients);
    CHECK(same_off.output == off.output);
    CHECK(same_off.gradients == off.gradients);
  }
}

TEST_CASE("depth-first sends pieces of large batches through a stretch, and small batches whole") {
  const auto largest_batch = [](std::size_t samples, bool depth_first) {
    const watcher seen;
    const glia::sequential layers{glia::conv2d{.filters = 4, .kernel = 3}, seen, glia::max_pool2d{},
                                  glia::flatten{}};
    *seen.largest = 0;
    static_cast<void>(pass(layers, {8, 8, 1}, samples, 2, depth_first));
    return seen.largest->load();
  };
  CHECK(largest_batch(200, true) == 8);
  CHECK(largest_batch(200, false) == 200);
  CHECK(largest_batch(5, true) == 5);
}

TEST_CASE("batch normalisation sees the whole batch in training, pieces afterwards") {
  const watcher before;
  const watcher after;
  glia::model net{glia::sequential{glia::conv2d{.filters = 4, .kernel = 1}, glia::batch_norm{},
                                   after, glia::max_pool2d{}, glia::flatten{}},
                  {8, 8, 3}};
  const xt::xarray<float> x = xt::ones<float>({100, 8, 8, 3});
  *after.largest = 0;
  static_cast<void>(net.predict(x));
  CHECK(*after.largest == 7);  // 100 samples on 16 lanes

  const glia::reference<float> oracle;
  glia::model same{net.description(), {8, 8, 3}, oracle};
  CHECK(test::distance(net.predict(x), same.predict(x)) < 1e-6);
}

TEST_CASE("what a layer throws on a piece comes out, and the model goes on") {
  glia::model net{
      glia::sequential{glia::conv2d{.filters = 2, .kernel = 1}, thrower{}, glia::flatten{}},
      {4, 4, 1}};
  const xt::xarray<float> many = xt::ones<float>({64, 4, 4, 1});
  const xt::xarray<float> one = xt::ones<float>({1, 4, 4, 1});
  CHECK(test::contains(test::message_of<glia::shape_error>([&] { (void)net.predict(many); }),
                       "sequential[1] thrower: sample"));
  CHECK(net.predict(one).size() == 32);
}
