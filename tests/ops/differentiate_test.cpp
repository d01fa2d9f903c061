#include <glia/backends/program.hpp>
#include <glia/backends/recorder.hpp>
#include <glia/ops/differentiate.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;
using test::tensor_of;
using test::values_of;

namespace {

/// tanh(x w) * x, with x (2, 2) and w (2, 2).
template <class Variable>
Variable function_of(const Variable& x, const Variable& w) {
  return glia::ops::tanh(glia::ops::matmul(x, w)) * x;
}

struct recorded_function {
  glia::graph calls;
  glia::value_id x;
  glia::value_id w;
  glia::value_id unused;
  glia::value_id y;
};

recorded_function record() {
  const glia::recorder device;
  glia::tape tape(device);
  const auto x = device.input("x", glia::real_of({2, 2}));
  const auto w = device.input("w", glia::real_of({2, 2}));
  const auto unused = device.input("unused", glia::real_of({3}));
  const auto y = function_of(tape.constant(x), tape.constant(w));
  return {device.recorded(), x.number(), w.number(), unused.number(), y.value().number()};
}

}  // namespace

TEST_CASE("the gradients that are added to a graph are those of a tape") {
  const glia::cpu<float> device;
  auto x = tensor_of(device, {2, 2}, {1, -2, 3, 0.5F});
  auto w = tensor_of(device, {2, 2}, {0.1F, 0.2F, -0.3F, 0.4F});

  glia::tape tape(device);
  const auto leaf_x = tape.leaf(x);
  const auto leaf_w = tape.leaf(w);
  tape.backward(glia::ops::sum(function_of(leaf_x, leaf_w)));

  recorded_function f = record();
  const std::vector<glia::value_id> requested{f.w, f.unused, f.x};
  const std::vector<glia::value_id> gradients = glia::differentiate(f.calls, f.y, requested);
  REQUIRE(gradients.size() == 3);
  CHECK(gradients[1] == glia::no_value);
  f.calls.add_output("dw", gradients[0]);
  f.calls.add_output("dx", gradients[2]);
  const glia::program compiled(f.calls, device);
  auto unused = tensor_of(device, {3}, {0, 0, 0});
  std::vector<glia::tensor> results(2);
  compiled.run(std::vector<glia::tensor*>{&x, &w, &unused}, results);
  CHECK(values_of(device, results[0]) == values_of(device, tape.take_gradient(leaf_w.slot())));
  CHECK(values_of(device, results[1]) == values_of(device, tape.take_gradient(leaf_x.slot())));
}

TEST_CASE("nodes of gradients belong to the layer of the node that they differentiate") {
  const glia::recorder device;
  glia::tape tape(device);
  device.set_place("head");
  const auto x = tape.constant(device.input("x", glia::real_of({2})));
  const auto y = glia::ops::square(x);
  device.set_place("tail");
  glia::graph calls = device.recorded();
  const std::uint32_t tail = calls.place();
  const std::size_t node_count = calls.nodes().size();
  (void)glia::differentiate(calls, y.value().number(),
                            std::vector<glia::value_id>{x.value().number()});
  REQUIRE(calls.nodes().size() > node_count);
  CHECK(calls.place() == tail);
  const glia::graph_place& place = calls.place_of(calls.nodes().back());
  CHECK(place.name == "head");
  CHECK(place.phase == glia::step_phase::backward);
}

TEST_CASE("a graph stays as it was if it cannot be differentiated") {
  recorded_function f = record();
  const std::size_t node_count = f.calls.nodes().size();
  CHECK(test::contains(message_of<glia::value_error>([&] {
                         (void)glia::differentiate(f.calls, f.y,
                                                   std::vector<glia::value_id>{f.unused});
                       }),
                       "expected a result that depends on a trainable parameter"));
  CHECK(f.calls.nodes().size() == node_count);
}
