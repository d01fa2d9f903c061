#include <glia/backends/cpu.hpp>
#include <glia/backends/program.hpp>
#include <glia/backends/recorder.hpp>
#include <glia/backends/reference.hpp>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"

namespace {

/// A backend without anything optional, whose kernels fail from a given call on.
class failing_backend : public test::forwarding_backend {
 public:
  failing_backend() : forwarding_backend(glia::reference<float>()) {}

  void run(const glia::kernel_call& call) const override {
    if (left_ == 0) {
      throw glia::device_error("no power");
    }
    --left_;
    forwarding_backend::run(call);
  }
  void fail_after(std::size_t calls) const { left_ = calls; }

 private:
  mutable std::size_t left_ = static_cast<std::size_t>(-1);
};

auto small_network() {
  return glia::sequential{glia::dense{6, glia::tanh}, glia::dropout{0.3},    glia::batch_norm{},
                          glia::reshape{{3, 2}},      glia::gru{.units = 3}, glia::dense{4}};
}

/// Trains for an epoch, and returns all parameters.
std::vector<float> trained_on(const glia::device& device) {
  glia::model net{small_network(), {2}, device};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  trainer.fit(test::quadrants{45}, test::quadrants{20}, {.batch_size = 20, .progress = nullptr});
  return test::parameters_of(net);
}

}  // namespace

TEST_CASE("a device is chosen at run time") {
  std::vector<glia::device> devices{glia::cpu<float>({.threads = 1}), glia::reference<double>()};
  CHECK(devices[0].name() == "cpu");
  CHECK(devices[0].real_bytes() == 4);
  CHECK(devices[1].name() == "reference");
  CHECK(devices[1].real_bytes() == 8);
  devices[0] = devices[1];
  CHECK(devices[0].name() == "reference");
}

TEST_CASE("graphs run kernel by kernel on a backend that does not compile them, bit for bit") {
  const glia::device plain(
      std::make_shared<const test::forwarding_backend>(glia::reference<float>()));
  CHECK(trained_on(plain) == trained_on(glia::reference<float>()));
}

TEST_CASE("a step that fails leaves the parameters as they were") {
  const auto failing = std::make_shared<const failing_backend>();
  glia::model net{glia::dense{4}, {2}, glia::device(failing)};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{.momentum = 0.9}};
  const glia::fit_options once{.batch_size = 45, .progress = nullptr};
  trainer.fit(test::quadrants{45}, once);
  const glia::training_state initial_state = trainer.state();
  std::size_t failures = 0;
  for (std::size_t calls = 0;; ++calls) {
    failing->fail_after(calls);
    try {
      trainer.fit(test::quadrants{45}, once);
      break;
    } catch (const glia::device_error&) {
      ++failures;
    }
    failing->fail_after(static_cast<std::size_t>(-1));
    CHECK(trainer.state().tensors == initial_state.tensors);
  }
  CHECK(failures > 10);
}

TEST_CASE("tensors of another device are refused") {
  const glia::cpu<float> device({.threads = 1});
  const glia::cpu<double> in_double({.threads = 1});
  const glia::recorder recorder;
  const auto native = device.run(kernels::full{{2}, 1});
  const auto wide = in_double.run(kernels::full{{2}, 1});
  const auto recorded = recorder.input("x", glia::real_of({2}));
  const auto message = [](const auto& call) { return test::message_of<glia::value_error>(call); };
  const kernels::binary add{glia::binary_function::add};
  CHECK(test::contains(message([&] { (void)device.run(add, native, wide); }),
                       "the tensor (2,) has numbers of another type"));
  CHECK(test::contains(message([&] { (void)device.run(add, recorded, native); }),
                       "the tensor (2,) is a value of a recorded graph"));
  CHECK(test::contains(message([&] { (void)recorder.run(add, recorded, native); }),
                       "expected a tensor of the recorded graph, got a tensor (2,) of another "
                       "device; copy numbers to the host, and then pass them to from_host"));
  CHECK(test::contains(message([&] { recorder.output("y", native); }),
                       "expected a tensor of the recorded graph, got a tensor (2,) of another"));
  CHECK(test::contains(message([&] { recorder.output("y", {}); }), "a tensor () without elements"));
  const glia::recorder other;
  const glia::tensor foreign = other.input("x", glia::real_of({7}));
  CHECK(test::contains(message([&] { recorder.output("y", foreign); }), "of another recorder"));
  CHECK(test::contains(message([&] { recorder.next(recorded, native); }), "of another device"));
  CHECK(test::contains(message([&] { recorder.next(native, recorded); }), "of another device"));
  CHECK(recorder.recorded().outputs().empty());
  CHECK(message([&] { (void)recorder.value(7); }) ==
        "recorder: expected a value of the graph, got the number 7 of 1");
  CHECK(message([&] { (void)recorder.value(glia::no_value); }) ==
        "recorder: expected a value of the graph, got no_value, the gradient of a value that has "
        "no influence");
  std::vector<float> numbers(2);
  CHECK(test::contains(message([&] { device.to_host(wide, std::span(numbers)); }),
                       "numbers of another type"));
  CHECK(test::contains(message([&] { device.to_host(recorded, std::span(numbers)); }),
                       "recorded graph"));
  CHECK(test::contains(message([&] { recorder.to_host(recorded, std::span(numbers)); }),
                       "has no elements while a description is recorded"));
  const auto held = glia::tensor::holding(std::make_shared<int>(1), glia::real_of({2}));
  CHECK(test::contains(message([&] { (void)device.run(add, held, native); }),
                       "belongs to another device"));

  recorder.output("y", recorder.run(add, recorded, recorded));
  const glia::program program(recorder.recorded(), device);
  glia::tensor argument = wide;
  glia::tensor* const input = &argument;
  glia::tensor y;
  CHECK(test::contains(message([&] { program.run(std::span(&input, 1), std::span(&y, 1)); }),
                       "numbers of another type"));
  argument = native;
  program.run(std::span(&input, 1), std::span(&y, 1));
  CHECK(test::values_of(device, y) == std::vector<float>{2, 2});
}

TEST_CASE("a tensor keeps an object of a device alive, and its handles are counted") {
  auto object = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = object;
  glia::tensor tensor = glia::tensor::holding(std::move(object), glia::real_of({3}));
  CHECK(tensor.unique());
  CHECK(tensor.home() == glia::tensor_home::buffer);
  glia::tensor copy = tensor;
  CHECK_FALSE(tensor.unique());
  CHECK(tensor.shares_memory(copy));
  CHECK(*static_cast<const int*>(copy.object().get()) == 7);
  tensor = {};
  CHECK(copy.unique());
  CHECK_FALSE(watched.expired());
  copy = {};
  CHECK(watched.expired());
}
