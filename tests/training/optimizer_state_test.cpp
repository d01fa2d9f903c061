#include <glia/training/optimizer_state.hpp>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// One step by hand on the samples of a batch, all of them at once or a few at a time.
template <class Model, class State>
void step_by_hand(Model& net, State& state, const glia::batch& b, std::size_t step,
                  std::size_t at_a_time) {
  const std::size_t width = b.inputs.size() / b.size;
  for (std::size_t first = 0; first < b.size; first += at_a_time) {
    glia::tape tape(net.device());
    std::vector<glia::gradient_slot> slots;
    const auto x = tape.constant(net.device().from_host(
        std::span(b.inputs).subspan(first * width, at_a_time * width), {at_a_time, width}));
    const auto y = net.forward(x, slots, glia::run_mode::training,
                               {.seed = 1, .step = static_cast<std::uint32_t>(step)});
    const glia::targets t{
        net.device().from_host(std::span(b.labels).subspan(first, at_a_time), {at_a_time}), {}};
    tape.backward(glia::ops::mean(glia::softmax_cross_entropy{}(y, t)));
    state.add(tape, slots);
  }
  state.update(static_cast<double>(at_a_time) / static_cast<double>(b.size));
}

glia::batch quadrant_batch() {
  const test::quadrants data{12};
  glia::batch b;
  std::vector<std::uint32_t> samples(12);
  std::iota(samples.begin(), samples.end(), 0U);
  glia::dataset_view(data).gather(samples, b);
  return b;
}

}  // namespace

TEST_CASE("steps by hand are the trainer's, for every optimizer and with clipping") {
  const auto compare = [](const auto& rule, std::size_t at_a_time) {
    const glia::sequential network{glia::dense{6, glia::tanh}, glia::frozen{glia::dense{5}},
                                   glia::dense{4}};
    const glia::cpu<double> device;
    glia::model by_hand{network, {2}, device};
    glia::model trained{network, {2}, device};
    glia::optimizer_state state{by_hand, rule, {glia::clip_by_global_norm(0.01)}};
    glia::trainer trainer{trained,
                          glia::softmax_cross_entropy{},
                          rule,
                          {.gradient_transforms = {glia::clip_by_global_norm(0.01)}}};
    const glia::batch b = quadrant_batch();
    for (std::size_t step = 0; step < 4; ++step) {
      step_by_hand(by_hand, state, b, step, at_a_time);
      trainer.step(b);
    }
    CHECK(state.step_count() == 4);
    for (const auto& p : trained.parameters()) {
      const auto expected = trained.template get<double>(p.spec.name);
      CHECK(test::distance(by_hand.template get<double>(p.spec.name), expected) < 1e-12);
    }
  };
  for (const std::size_t at_a_time : {12U, 3U}) {
    compare(glia::sgd{.learning_rate = glia::exponential_decay(0.5, 2, 0.5, {.staircase = true}),
                      .momentum = 0.9},
            at_a_time);
    compare(glia::adam{0.01}, at_a_time);
    compare(glia::adamw{0.01}, at_a_time);
    compare(glia::rmsprop{0.01}, at_a_time);
    compare(glia::adagrad{0.1}, at_a_time);
  }
}

TEST_CASE("an optimizer's state refuses the slots of another model, and a factor that is none") {
  glia::model net{glia::dense{2}, {2}};
  glia::model other{glia::sequential{glia::dense{2}, glia::dense{2}}, {2}};
  glia::optimizer_state state{net, glia::sgd{}};
  glia::tape tape(other.device());
  std::vector<glia::gradient_slot> slots;
  const auto x = tape.constant(test::tensor_of(other.device(), {1, 2}, {1, 2}));
  tape.backward(glia::ops::sum(other.forward(x, slots, glia::run_mode::training, {})));
  CHECK(test::contains(test::message_of<glia::value_error>([&] { state.add(tape, slots); }),
                       "expected 2 slots, one for each parameter, got 4"));
  CHECK_THROWS_AS(state.update(std::nan("")), glia::value_error);
  CHECK(test::contains(test::message_of<glia::value_error>([&] { state.update(); }),
                       "no parameter has a gradient; before each update, call tape.backward"));
  CHECK(state.step_count() == 0);
}

TEST_CASE("slots of another model or tape change nothing, whatever the number of parameters") {
  const glia::cpu<float> device;
  glia::model net{glia::dense{1}, {2}, device};
  glia::model other{glia::dense{3}, {4}, device};
  glia::optimizer_state state{net, glia::adam{}};
  glia::tape tape(device);
  glia::tape elsewhere(device);
  std::vector<glia::gradient_slot> slots;
  const auto x = tape.constant(test::tensor_of(device, {1, 4}, {1, 2, 3, 4}));
  tape.backward(glia::ops::sum(other.forward(x, slots, glia::run_mode::training, {})));
  const auto kernel = net.get("dense_0.kernel");
  CHECK(test::message_of<glia::value_error>([&] { state.update(tape, slots); }) ==
        "optimizer_state: parameter 'dense_0.kernel' has the shape (2, 1), but the gradient in its "
        "slot has the shape (4, 3); the slots belong to another model");
  CHECK_THROWS_AS(state.update(elsewhere, slots), glia::value_error);
  CHECK((net.get("dense_0.kernel") == kernel));
  CHECK(state.step_count() == 0);
  // And the other model's optimizer still finds its gradients.
  glia::optimizer_state right{other, glia::adam{}};
  right.update(tape, slots);
  CHECK(right.step_count() == 1);
}
