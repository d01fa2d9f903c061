#include <atomic>
#include <glia/graph/memory_plan.hpp>
#include <numeric>
#include <thread>

#include "catch.hpp"
#include "graph/attention.hpp"
#include "graph/recorded_pass.hpp"
#include "helpers.hpp"

namespace {

using B = glia::cpu<float>;
using R = glia::recorder;

/// Layers of every kind, with state and randomness.
auto plain_description() {
  using namespace glia;
  return sequential{
      dense{9 * 10 * 2, glia::tanh},
      reshape{{9, 10, 2}},
      sequential{conv2d{.filters = 16, .kernel_size = 2, .padding = same, .activation = relu},
                 max_pool2d{}, dropout{0.3}},
      residual{sequential{conv2d{.filters = 16, .kernel_size = 3, .padding = same}, batch_norm{},
                          glia::gelu}},
      conv2d{.filters = 8, .kernel_size = 1, .activation = relu6},
      avg_pool2d{},
      flatten{},
      layer_norm{},
      dropout{0.2},
      dense{48},
      test::attention{},
      dense{3, softmax}};
}

std::vector<float> samples_of(std::size_t samples, std::uint32_t stream) {
  return glia::testing::test_values({samples, 12}, stream);
}

}  // namespace

TEST_CASE("replayed equals immediate, bit for bit, on another batch and step") {
  for (const std::size_t samples : {std::size_t{1}, std::size_t{5}, std::size_t{40}}) {
    glia::model at_once{plain_description(), {12}, B({.threads = 2}), {.seed = 3}};
    glia::model replayed = at_once;
    const test::recorded_pass pass(replayed, samples, {.fuse = false, .cut = false});
    for (std::uint32_t step = 0; step < 3; ++step) {
      const glia::step_key key{.seed = 7, .step = step};
      const auto x = samples_of(samples, step + 1);
      CHECK(pass(replayed, x, key) == test::pass_at_once(at_once, x, key));
      for (std::size_t i = 0; i < at_once.parameters().size(); ++i) {
        const auto values = [&](const auto& net) {
          return test::values_of(net.device(), net.parameters()[i].value);
        };
        CHECK(values(replayed) == values(at_once));
      }
    }
  }
}

TEST_CASE("fused and cut programs are what the unfused one is, up to rounding") {
  const std::size_t samples = 53;
  glia::model plain{plain_description(), {12}, B({.threads = 2}), {.seed = 3}};
  glia::model fused = plain;
  const test::recorded_pass plain_pass(plain, samples, {.fuse = false, .cut = false});
  const test::recorded_pass fused_pass(fused, samples, {.fuse = true, .cut = true});
  CHECK(fused_pass.calls().nodes().size() < plain_pass.calls().nodes().size());
  const auto expected = plain_pass(plain, samples_of(samples, 1), {.seed = 7});
  const auto actual = fused_pass(fused, samples_of(samples, 1), {.seed = 7});
  REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    CHECK(test::distance(actual[i], expected[i]) < 1e-4);
  }
}

TEST_CASE("a training step replayed on other batches, rates and steps is the step itself") {
  using namespace glia;
  const sequential layers{dense{30, relu}, dropout{0.4}, dense{20, glia::tanh}, dense{3}};
  const adam rule{.learning_rate = linear_warmup(4, 0.02)};
  const softmax_cross_entropy loss;
  model recorded{layers, {12}, B({.threads = 2}), {.seed = 3}};
  model by_hand = recorded;
  trainer trainer{recorded, loss, rule, {.seed = 9}};
  std::vector<std::vector<glia::tensor>> slots;
  const glia::device& device = by_hand.device();
  for (const auto& p : by_hand.parameters()) {
    const auto zero = device.run(kernels::full{p.spec.shape, 0});
    slots.push_back({zero, test::host_of(device).copy(zero)});
  }
  for (std::uint32_t step = 0; step < 6; ++step) {
    const glia::batch b{.size = 7,
                        .input_shape = {7, 12},
                        .inputs = samples_of(7, step),
                        .labels = {0, 1, 2, 0, 2, 1, 1},
                        .target_shape = {},
                        .targets = {}};
    trainer.step(b);

    tape tape(device);
    std::vector<gradient_slot> gradient_slots;
    const auto x = tape.constant(device.from_host(std::span<const float>(b.inputs), {7, 12}));
    const auto y =
        by_hand.forward(x, gradient_slots, run_mode::training, {.seed = 9, .step = step});
    tape.backward(
        ops::mean(loss(y, {device.from_host(std::span<const std::int32_t>(b.labels), {7}), {}})));
    const auto numbers = numbers_of(rule, device, step);
    for (std::size_t i = 0; i < slots.size(); ++i) {
      rule.apply(device, by_hand.parameters()[i].value, tape.take_gradient(gradient_slots[i]),
                 slots[i], numbers);
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
      INFO("step " << step << ", " << by_hand.parameters()[i].spec.name);
      CHECK(test::values_of(device, by_hand.parameters()[i].value) ==
            test::values_of(device, recorded.parameters()[i].value));
    }
  }
}

TEST_CASE("an input that changes is written over where nobody else holds it, else copied") {
  const B device;
  const R rec;
  const auto x = rec.input("x", glia::real_of({3}));
  const auto g = rec.input("g", glia::real_of({3}));
  const auto rate = rec.input("rate", glia::real_of({1}));
  const auto [next, velocity] = rec.run(kernels::sgd{}, x, g, glia::tensor{}, rate);
  CHECK_FALSE(velocity);
  rec.next(x, next);
  const glia::program step(rec.recorded(), device);
  glia::tensor p = test::tensor_of(device, {3}, {1, 2, 3});
  glia::tensor gradient = test::tensor_of(device, {3}, {1, 1, 1});
  glia::tensor half = test::tensor_of(device, {1}, {0.5F});
  const std::vector<glia::tensor*> inputs{&p, &gradient, &half};
  const float* data = test::data_of(p);
  step.run(inputs, {});
  CHECK(test::data_of(p) == data);
  const glia::tensor snapshot = p;
  step.run(inputs, {});
  CHECK(test::data_of(p) != data);
  CHECK(test::values_of(device, p) == std::vector<float>{0, 1, 2});
  CHECK(test::values_of(device, snapshot) == std::vector<float>{0.5F, 1.5F, 2.5F});
}

TEST_CASE("outputs may be inputs, constants, the same tensor twice, and other shapes of one") {
  const B device;
  const R rec;
  const auto x = rec.input("x", glia::real_of({2, 3}));
  const std::vector<float> numbers{1, 2};
  const auto constant = rec.from_host(std::span<const float>(numbers), {2});
  const auto y = rec.run(kernels::unary{{glia::unary_function::affine, 2, 0}}, x);
  rec.output("x", x);
  rec.output("constant", constant);
  rec.output("y", y);
  rec.output("y", y);
  rec.output("flat", rec.run(kernels::reshape{{6}}, y));
  rec.output("flat x", rec.run(kernels::reshape{{6}}, x));
  const glia::program run(rec.recorded(), device);
  glia::tensor input = test::tensor_of(device, {2, 3}, {1, 2, 3, 4, 5, 6});
  glia::tensor* const inputs[] = {&input};
  std::vector<glia::tensor> out(6);
  run.run(inputs, out);
  input = {};
  const std::vector<float> once{1, 2, 3, 4, 5, 6};
  const std::vector<float> twice{2, 4, 6, 8, 10, 12};
  CHECK(test::values_of(device, out[0]) == once);
  CHECK(test::values_of(device, out[1]) == numbers);
  CHECK(test::values_of(device, out[2]) == twice);
  CHECK(test::values_of(device, out[3]) == twice);
  CHECK(test::values_of(device, out[4]) == twice);
  CHECK(out[4].shape() == glia::shape{6});
  CHECK(test::values_of(device, out[5]) == once);
  CHECK(out[5].shape() == glia::shape{6});
}

TEST_CASE("a tensor that leaves is written over by nobody, however often it is taken") {
  const B device;
  const R rec;
  const auto x = rec.input("x", glia::real_of({2}));
  const auto y = rec.run(kernels::unary{{glia::unary_function::affine, 2, 0}}, x);
  for (int i = 0; i < 4; ++i) {
    rec.output("y", y);
  }
  for (double addend = 1; addend < 7; ++addend) {
    rec.output("more", rec.run(kernels::unary{{glia::unary_function::affine, 1, addend}}, y));
  }
  const glia::program run(rec.recorded(), device);
  glia::tensor input = test::tensor_of(device, {2}, {1, 2});
  glia::tensor* const inputs[] = {&input};
  std::vector<glia::tensor> out(10);
  run.run(inputs, out);
  CHECK(test::values_of(device, out[0]) == std::vector<float>{2, 4});
  CHECK(test::values_of(device, out[3]) == std::vector<float>{2, 4});
  CHECK(test::values_of(device, out[4]) == std::vector<float>{3, 5});
  CHECK(test::values_of(device, out[9]) == std::vector<float>{8, 10});
}

TEST_CASE("a program refuses tensors that it was not recorded for") {
  const B device;
  const R rec;
  const auto x = rec.input("samples", glia::real_of({2, 3}));
  rec.output("y", rec.run(kernels::unary{glia::relu.map}, x));
  const glia::program run(rec.recorded(), device);
  std::vector<glia::tensor> out(1);
  glia::tensor wrong = test::tensor_of(device, {3, 2}, {1, 2, 3, 4, 5, 6});
  glia::tensor* inputs[] = {&wrong};
  CHECK(test::message_of<glia::shape_error>([&] { run.run(inputs, out); }) ==
        "compiled graph: expected for the input 'samples' a tensor of shape (2, 3), got (3, 2); a "
        "compiled graph runs only for the shapes with which it was recorded");
  const std::vector<std::int32_t> words(6);
  wrong = device.from_host(std::span<const std::int32_t>(words), {2, 3});
  CHECK(test::contains(test::message_of<glia::shape_error>([&] { run.run(inputs, out); }),
                       "with another element type"));
  CHECK(test::contains(test::message_of<glia::value_error>([&] { run.run({}, out); }),
                       "expected 1 inputs and 1 outputs, got 0 and 1"));
  float number = 0;
  CHECK(test::contains(
      test::message_of<glia::value_error>([&] { rec.to_host(x, std::span<float>(&number, 1)); }),
      "has no elements while a description is recorded"));
}

TEST_CASE("a probe sees what every kernel gives") {
  const B device;
  const R rec;
  const auto x = rec.input("x", glia::real_of({2}));
  rec.set_place("first");
  const auto y = rec.run(kernels::unary{{glia::unary_function::affine, 2, 0}}, x);
  rec.set_place("second");
  rec.output("z", rec.run(kernels::unary{{glia::unary_function::affine, 1, 1}}, y));
  const glia::program run(rec.recorded(), device);
  glia::tensor input = test::tensor_of(device, {2}, {1, 2});
  glia::tensor* const inputs[] = {&input};
  std::vector<glia::tensor> out(1);
  std::vector<std::string> lines;
  const auto look = [&](const glia::graph_node& node, auto results) {
    const auto values = test::values_of(device, *results[0]);
    lines.push_back(glia::text(run.calls().place_of(node).name, ' ', node.kernel.name(), ' ',
                               values[0], ' ', values[1]));
  };
  const glia::probe_function probe(look);
  run.run(inputs, out, {}, &probe);
  CHECK(lines == std::vector<std::string>{"first unary 2 4", "second unary 3 5"});
}

TEST_CASE("several threads run one program side by side") {
  glia::model net{glia::sequential{glia::dense{50, glia::relu}, glia::dense{4}}, {12}};
  const auto ready = net.prepare({.batch_size = 3});
  std::vector<std::vector<float>> expected;
  for (std::uint32_t i = 0; i < 8; ++i) {
    expected.emplace_back(12);
    const auto x = samples_of(3, i);
    ready.run(std::span<const float>(x), std::span<float>(expected.back()));
  }
  std::atomic<std::size_t> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto x = samples_of(3, i);
      std::vector<float> y(12);
      for (int repetition = 0; repetition < 200; ++repetition) {
        ready.run(std::span<const float>(x), std::span<float>(y));
        wrong += y == expected[i] ? 0U : 1U;
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
}

TEST_CASE("a prepared model stays what it was, and takes batches of its size only") {
  glia::model net{glia::sequential{glia::conv2d{.filters = 3, .kernel_size = 1}, glia::batch_norm{},
                                   glia::flatten{}, glia::dense{2}},
                  {2, 2, 1}};
  const xt::xarray<float> x = xt::ones<float>({2, 2, 2, 1});
  const auto ready = net.prepare({.batch_size = 2});
  const xt::xarray<float> original = net.predict(x);
  CHECK((ready(x) == original));
  net.set("dense_0.bias", {5, 6});
  net.set("batch_norm_0.beta", {1, 2, 3});
  CHECK((ready(x) == original));
  CHECK((net.predict(x) != original));
  CHECK((net.prepare({.batch_size = 2})(x) == net.predict(x)));
  CHECK(ready.calls().nodes().size() <= 3);
  CHECK(test::message_of<glia::shape_error>([&] {
          (void)ready(xt::xarray<float>(xt::ones<float>({1, 2, 2, 1})));
        }) ==
        "prepared model: expected inputs of shape (2, 2, 2, 1), got (1, 2, 2, 1); call prepare "
        "again for another batch size");
  CHECK_THROWS_AS((void)net.prepare({.batch_size = 0}), glia::value_error);
}

TEST_CASE("blocks that are needed at the same time do not overlap") {
  std::vector<glia::lifetime> blocks;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::size_t first = glia::detail::random_bits({.seed = 1}, 3 * i) % 50;
    blocks.push_back({1 + glia::detail::random_bits({.seed = 1}, 3 * i + 1) % 1000, first,
                      first + glia::detail::random_bits({.seed = 1}, 3 * i + 2) % 9});
  }
  const glia::memory_layout layout = glia::lay_out(blocks);
  std::size_t peak = 0;
  for (std::size_t step = 0; step < 60; ++step) {
    std::size_t needed = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (blocks[i].first > step || blocks[i].last < step) {
        continue;
      }
      needed += (blocks[i].bytes + 63) / 64 * 64;
      CHECK(layout.offsets[i] % 64 == 0);
      CHECK(layout.offsets[i] + blocks[i].bytes <= layout.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together = blocks[j].first <= step && step <= blocks[j].last;
        CHECK((!together || layout.offsets[i] >= layout.offsets[j] + blocks[j].bytes ||
               layout.offsets[j] >= layout.offsets[i] + blocks[i].bytes));
      }
    }
    peak = std::max(peak, needed);
  }
  CHECK(static_cast<double>(layout.bytes) < 1.2 * static_cast<double>(peak));
}

namespace {

/// Trained tensors whose gradients are one and the same for one sample.
struct three_biases {
  static constexpr std::string_view type_name = "three_biases";

  glia::variable operator()(glia::scope& s, glia::variable x) const {
    const std::size_t width = x.shape().back();
    x = x * x + s.parameter("first", {width}, glia::constant(1));
    x = x + s.parameter("second", {1, width}, glia::constant(1));
    return x + s.parameter("third", {width}, glia::constant(1));
  }
  [[nodiscard]] static std::string description() { return "three_biases"; }
  friend bool operator==(const three_biases&, const three_biases&) = default;
};

/// Runs a recorded graph into given tensors whose numbers are destroyed as soon as each is told of,
/// as a sum over ranks does, and gives what they were then; and what the same run leaves alone.
struct told_outputs {
  std::vector<std::vector<float>> told, undisturbed;
  std::vector<std::size_t> kernel_counts;  // the kernels that had run when each output was ready
  std::size_t kernels = 0;                 // of the run
};

told_outputs run_and_destroy(const glia::graph& g, std::vector<glia::tensor> inputs) {
  const B device({.threads = 1});
  const glia::program program(g, device);
  std::vector<glia::tensor*> arguments;
  for (glia::tensor& input : inputs) {
    arguments.push_back(&input);
  }
  std::vector<glia::tensor> results(g.outputs().size());
  program.run(arguments, results);
  told_outputs result;
  std::vector<glia::tensor> places;
  for (const glia::tensor& output : results) {
    result.undisturbed.push_back(test::values_of(device, output));
    places.push_back(test::host_of(device).uninitialized(glia::real_of(output.shape())));
  }
  result.told.resize(results.size());
  result.kernel_counts.resize(results.size());
  glia::timeline times;
  program.run_into(
      arguments, places,
      [&](std::size_t i) {
        CHECK(result.told[i].empty());
        result.told[i] = test::values_of(device, places[i]);
        result.kernel_counts[i] = times.kernels.size();
        std::fill_n(test::data_of(places[i]), places[i].shape().size(), -1e6F);
      },
      &times);
  result.kernels = times.kernels.size();
  return result;
}

}  // namespace

TEST_CASE("an output is told of once nothing of the run needs its memory") {
  // Gradients of one sample: those of biases are the very memory of the gradient of the output,
  // whatever reshapes lie between.
  const auto description =
      glia::sequential{glia::dense{20, glia::tanh},
                       glia::dense{16},
                       glia::reshape{{4, 4, 1}},
                       glia::conv2d{.filters = 3, .kernel_size = 1, .activation = glia::relu},
                       glia::flatten{},
                       three_biases{},
                       glia::dense{6}};
  for (const std::size_t samples : {1U, 2U, 40U}) {
    const glia::model net{description, {12}, B({.threads = 1}), {.seed = 3}};
    const R rec;
    glia::tape tape(rec);
    const auto x = tape.leaf(rec.input("x", glia::real_of({samples, 12})));
    const auto key = rec.input("key", {{glia::step_key::words}, glia::element::index});
    auto parameters = glia::detail::as_inputs(rec, net.parameters());
    std::vector<glia::gradient_slot> slots;
    glia::scope s(tape, parameters, slots, key);
    const auto y = net.describe(s, x);
    tape.backward(test::weighted_sum(y));
    for (std::size_t i = slots.size(); i-- > 0;) {
      rec.output("gradient", tape.take_gradient(slots[i]));
    }
    rec.output("dx", tape.take_gradient(x.slot()));
    glia::graph g = rec.recorded();
    std::vector<std::size_t> varying(g.inputs().size());
    std::iota(varying.begin(), varying.end(), std::size_t{0});
    glia::detail::fuse_kernels(g, varying, glia::fused_kernel_set::all());
    const auto words = glia::step_key{}.to_words();
    std::vector<glia::tensor> inputs{
        test::tensor_of(net.device(), {samples, 12}, samples_of(samples, 1)),
        net.device().from_host(std::span<const std::int32_t>(words), {words.size()})};
    for (const auto& p : net.parameters()) {
      inputs.push_back(p.value);
    }
    const told_outputs outputs = run_and_destroy(g, std::move(inputs));
    CHECK(outputs.told == outputs.undisturbed);
    if (samples > 1) {  // those of the last layers are there early, to be sent meanwhile
      CHECK(outputs.kernel_counts[0] * 3 < outputs.kernels * 2);
      CHECK(outputs.kernel_counts[1] * 3 < outputs.kernels * 2);
      CHECK(outputs.kernel_counts[4] < outputs.kernels - 4);
    }
  }
}

TEST_CASE("outputs that are one memory, or an input, are all told of with their numbers") {
  const R rec;
  const auto x = rec.input("x", glia::real_of({1, 3}));
  const auto b = rec.input("b", glia::real_of({1, 3}));
  const auto sum = rec.run(kernels::binary{glia::binary_function::add}, x, b);
  const auto row = rec.run(kernels::reshape{{3}}, sum);
  rec.output("sum", sum);
  rec.output("row", row);
  rec.output("again", sum);
  rec.output("input", x);
  rec.output("row of the input", rec.run(kernels::reshape{{3}}, x));
  rec.output("product", rec.run(kernels::binary{glia::binary_function::multiply}, sum, b));
  const B device({.threads = 1});
  const told_outputs outputs = run_and_destroy(
      rec.recorded(),
      {test::tensor_of(device, {1, 3}, {1, 2, 3}), test::tensor_of(device, {1, 3}, {5, 6, 7})});
  CHECK(outputs.told == outputs.undisturbed);
  CHECK(outputs.told ==
        std::vector<std::vector<float>>{
            {6, 8, 10}, {6, 8, 10}, {6, 8, 10}, {1, 2, 3}, {1, 2, 3}, {30, 48, 70}});

  const R nothing;
  const auto only = nothing.input("x", glia::real_of({1, 3}));
  nothing.output("x", only);
  CHECK(run_and_destroy(nothing.recorded(), {test::tensor_of(device, {1, 3}, {1, 2, 3})}).told ==
        std::vector<std::vector<float>>{{1, 2, 3}});
}
