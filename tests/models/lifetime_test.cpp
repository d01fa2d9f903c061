#include <glia/glia.hpp>
#include <glia/training/optimizer_state.hpp>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

auto lifetime_network() { return glia::sequential{glia::dense{3, glia::relu}, glia::dense{4}}; }

const std::string moved_from =
    "model: the model was moved from and has no parameters; use the model that it was moved to, or "
    "assign another model to it first";

/// Has no memory for tensors of floats.
class exhausted_backend final : public test::forwarding_backend {
 public:
  using forwarding_backend::forwarding_backend;
  [[nodiscard]] glia::tensor from_host(std::span<const float> /*values*/,
                                       const glia::shape& /*s*/) const override {
    throw glia::detail::memory_error("not enough memory for a tensor");
  }
};

// So that a vector of models moves them when it grows.
static_assert(std::is_nothrow_move_constructible_v<glia::model<decltype(lifetime_network())>>);
static_assert(std::is_nothrow_move_assignable_v<glia::model<decltype(lifetime_network())>>);

}  // namespace

TEST_CASE("all that is asked of a model that was moved from is an error") {
  glia::model net{lifetime_network(), {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  const glia::model destination = std::move(net);
  const xt::xarray<float> x = xt::ones<float>({1, 2});
  const auto refused = [&](const auto& call) {
    CHECK(message_of<glia::value_error>([&] { (void)call(); }) == moved_from);
  };
  std::vector<float> inputs(2);
  std::vector<float> outputs(4);
  refused([&] { return net.predict(x); });
  refused([&] { return net.prepare(); });
  refused([&] {
    net.predict_batch(std::span<const float>(inputs), std::span<float>(outputs));
    return 0;
  });
  refused([&] { return net.summary(); });
  refused([&] { return net.parameters().size(); });
  refused([&] { return net.parameter_count(); });
  refused([&] { return net.get("dense_0.kernel"); });
  refused([&] {
    net.set("dense_0.bias", xt::zeros<float>({3}));
    return 0;
  });
  refused([&] { return net.output_shape(); });
  refused([&] { return net.sample_shape(); });
  refused([&] { return net.description(); });
  refused([&] { return net.frozen_output_shape(); });
  refused([&] { return net.depth_first(); });
  refused([&] { return &net.device(); });
  refused([&] { return &net.access(); });
  const test::quadrants data{20};
  refused([&] { return trainer.fit(data, {.progress = nullptr}); });
  refused([&] { return trainer.state(); });
  refused([&] { return glia::evaluate(net, data, glia::softmax_cross_entropy{}); });
  refused([&] { return glia::predict(net, data); });

  // It may be assigned to, and is a model again.
  net = destination;
  CHECK((net.predict(x) == destination.predict(x)));
  CHECK(trainer.fit(data, {.progress = nullptr}).epochs.size() == 1);
}

TEST_CASE("a trainer says that its model is gone") {
  std::optional<glia::model<decltype(lifetime_network())>> net(std::in_place, lifetime_network(),
                                                               glia::shape{2});
  glia::trainer trainer{*net, glia::softmax_cross_entropy{}, glia::sgd{}};
  glia::optimizer_state updates{*net, glia::sgd{}};
  const auto state = trainer.state();
  // Neither a copy nor another model in its place is the one that it was made for.
  const auto copy = *net;
  net.emplace(lifetime_network(), glia::shape{2});
  const test::quadrants data{20};
  const auto refused = [&](const auto& call) {
    CHECK(message_of<glia::value_error>([&] { call(); }) ==
          "trainer: the model no longer exists; keep it alive as long as the trainer is used");
  };
  refused([&] { (void)trainer.fit(data, {.progress = nullptr}); });
  refused([&] { (void)trainer.state(); });
  refused([&] { trainer.restore(state); });
  refused([&] { trainer.step(glia::batch{}); });
  net.reset();
  refused([&] { (void)trainer.fit(data, {.progress = nullptr}); });
  CHECK(trainer.step_count() == 0);
  CHECK(contains(message_of<glia::value_error>([&] {
                   glia::tape tape{glia::cpu<float>()};
                   updates.add(tape, std::vector<glia::gradient_slot>(4));
                 }),
                 "optimizer_state: the model no longer exists; keep it alive as long as the "
                 "optimizer_state is used"));
}

TEST_CASE("a prepared model that was moved from is an error") {
  const glia::model net{lifetime_network(), {2}};
  auto ready = net.prepare({.batch_size = 1});
  const auto destination = std::move(ready);
  const xt::xarray<float> x = xt::ones<float>({1, 2});
  CHECK((destination(x) == net.predict(x)));
  CHECK(message_of<glia::value_error>([&] { (void)ready(x); }) ==
        "prepared model: the object was moved from and cannot be used");
  CHECK_THROWS_AS(ready.calls(), glia::value_error);
}

TEST_CASE("a description that reduces the batch is refused when the model is made") {
  const auto sum = glia::lambda{"sum", [](auto x) { return glia::ops::sum(std::move(x)); }};
  CHECK(message_of<glia::shape_error>([&] { glia::model net(sum, {3}); }) ==
        "model: expected outputs (N, ...) with one row for each of 1 sample, got (); reduce over "
        "the axes of a sample, not over the batch axis, for example with ops::mean_per_sample");
  const auto column_sums = glia::lambda{"sum", [](auto x) {
                                          return glia::ops::sum_to(std::move(x), {1, 3});
                                        }};
  const glia::model net(column_sums, {3});
  CHECK(net.predict(xt::ones<float>({1, 3})).size() == 3);
  CHECK(contains(message_of<glia::shape_error>([&] {
                   (void)net.predict(xt::ones<float>({5, 3}));
                 }),
                 "one row for each of 5 samples, got (1, 3)"));
}

TEST_CASE("a gradient that is none is said to be none") {
  glia::tape tape{glia::cpu<float>()};
  const std::vector<float> numbers{1, 2};
  const auto x = tape.leaf(tape.device().from_host(std::span<const float>(numbers), {2}));
  const auto other = tape.leaf(x.value());
  tape.backward(glia::ops::sum(x * x));
  std::vector<float> values(2);
  tape.device().to_host(tape.gradient(x.slot()), std::span<float>(values));
  CHECK(values == std::vector<float>{2, 4});
  for (const std::size_t size : {1U, 2U}) {
    values.resize(size);
    CHECK(message_of<glia::value_error>([&] {
            tape.device().to_host(tape.gradient(other.slot()), std::span<float>(values));
          }) ==
          "to_host: the tensor is empty; a variable on which the result does not depend has no "
          "gradient");
  }
}

TEST_CASE("an activation that has a name and no function is refused") {
  const glia::activation mish{.name = "mish", .map = {}};
  CHECK(message_of<glia::value_error>([&] {
          glia::model net(glia::dense{3, mish}, {2});
        }) ==
        "activation: 'mish' has no function; set .map, as in {.name = \"softplus\", .map = "
        "{unary_function::softplus}}");
  CHECK_THROWS_AS(glia::model(glia::sequential{mish}, {2}), glia::value_error);
  CHECK_THROWS_AS(mish(xt::xarray<float>{1, 2}), glia::value_error);
  const glia::model plain(glia::sequential{glia::linear, glia::activation{}}, {2});
  CHECK(plain.output_shape() == glia::shape{2});
}

TEST_CASE("a parameter that a device has no memory for is named with its size") {
  const glia::device device(std::make_shared<const exhausted_backend>(glia::cpu<float>()));
  CHECK(message_of<glia::value_error>([&] { glia::model net(glia::dense{4}, {2}, device); }) ==
        "model: not enough memory for the parameter 'dense_0.kernel' (2, 4), which needs 3.2e-08 "
        "GB");
}

#if !defined(__SANITIZE_ADDRESS__)  // which ends the program where memory is not to be had
TEST_CASE("a model that no memory holds names the parameter and its size") {
  CHECK(
      contains(message_of<glia::value_error>([] {
                 glia::model net(glia::dense{std::size_t{1} << 26}, {std::size_t{1} << 26});
               }),
               "model: not enough memory for the parameter 'dense_0.kernel' (67108864, 67108864), "
               "which needs 1.80144e+07 GB"));
}

TEST_CASE("a tensor that no memory holds is named with its shape and its size") {
  const glia::cpu<float> device;
  const std::size_t side = std::size_t{1} << 24;
  const auto message = message_of<glia::value_error>([&] {
    (void)device.run(glia::kernels::full{{side, side}, 1});
  });
  CHECK(message ==
        "not enough memory for a tensor of shape (16777216, 16777216), which needs 1.1259e+06 GB; "
        "use smaller batches or a smaller model");
}

TEST_CASE("intermediate results that no memory holds are named with their size") {
  const std::size_t padding = std::size_t{1} << 22;
  const glia::model net{
      glia::sequential{glia::zero_pad2d{padding}, glia::global_avg_pool2d{}, glia::dense{1}},
      {1, 1, 1}};
  CHECK(contains(message_of<glia::value_error>([&] {
                   (void)net.predict(xt::ones<float>({1, 1, 1, 1}));
                 }),
                 "not enough memory for intermediate results, which need "));
}
#endif
