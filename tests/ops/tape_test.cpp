#include <optional>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"

using test::message_of;
using test::tensor_of;
using test::values_of;

TEST_CASE("backward gives the gradients of all leaves, added over all uses") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {2}, {3, 4}));
  const auto c = tape.constant(tensor_of(device, {2}, {10, 20}));
  const auto y = glia::ops::sum(x * x + x * c);
  tape.backward(y);
  CHECK(values_of(device, tape.take_gradient(x.slot())) == std::vector<float>{16, 28});
  CHECK_FALSE(c.needs_gradient());
}

TEST_CASE("a branch that the result does not depend on gets no gradient") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const auto unused = tape.leaf(tensor_of(device, {1}, {5}));
  const auto side = unused * 2.0;
  tape.backward(x * 2.0);
  CHECK(values_of(device, tape.take_gradient(x.slot())) == std::vector<float>{2});
  CHECK_FALSE(tape.take_gradient(unused.slot()));
}

TEST_CASE("differentiating what depends on no parameter is an error") {
  glia::tape tape{glia::cpu<float>()};
  const auto x = tape.constant(tape.device().run(kernels::full{{}, 1}));
  CHECK(test::contains(message_of<glia::value_error>([&] { tape.backward(x * 2.0); }),
                       "expected a result that depends on a trainable parameter"));
}

TEST_CASE("adjoints let go of what they kept once they have run") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const auto held = tensor_of(device, {1}, {7});
  const auto y = x * tape.constant(held);
  CHECK_FALSE(held.unique());
  tape.backward(y);
  CHECK(held.unique());
}

TEST_CASE("a tape that is cleared half way lets go of everything") {
  const glia::cpu<float> device;
  const auto held = tensor_of(device, {1}, {7});
  glia::tape tape(device);
  {
    const auto y = tape.leaf(tensor_of(device, {1}, {3})) * tape.constant(held);
    CHECK_FALSE(held.unique());
  }
  tape.clear();
  CHECK(held.unique());
}

TEST_CASE("variables, results and slots of another tape are refused") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  glia::tape other(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const auto y = other.leaf(tensor_of(device, {1}, {5}));
  const auto refused = [](const auto& call) {
    return test::contains(message_of<glia::value_error>(call), "a variable of another tape");
  };
  CHECK(refused([&] { tape.backward(y); }));
  CHECK(refused([&] { tape.backward(x - y); }));
  CHECK(refused([&] { other.backward(y - x); }));
  CHECK(refused([&] { (void)tape.take_gradient(y.slot()); }));
  tape.clear();
  CHECK(refused([&] { (void)tape.take_gradient(x.slot()); }));
  // By its value it may be used.
  const auto z = tape.leaf(tensor_of(device, {1}, {2}));
  tape.backward(z * tape.constant(y.value()));
  CHECK(values_of(device, tape.take_gradient(z.slot())) == std::vector<float>{5});
}

TEST_CASE("a variable of an earlier step is refused, even if its tape had the same address") {
  const glia::cpu<float> device;
  const auto refused = [](const auto& call) {
    return test::contains(message_of<glia::value_error>(call), "such as that of an earlier step");
  };
  std::optional<glia::tape> tape(std::in_place, device);
  for (const bool is_new : {true, false}) {
    const auto earlier_leaf = tape->leaf(tensor_of(device, {1}, {3}));
    const auto earlier = earlier_leaf * earlier_leaf;
    if (is_new) {
      tape.emplace(device);
    } else {
      tape->clear();
    }
    // The first slots of this step have the indices of the earlier variables.
    const auto x = tape->leaf(tensor_of(device, {1}, {2}));
    const auto y = x * x;
    CHECK(refused([&] { tape->backward(y + earlier); }));
    CHECK(refused([&] { tape->backward(earlier); }));
    CHECK(refused([&] { (void)tape->gradient(earlier_leaf.slot()); }));
    // Its value may be used.
    tape->clear();
    const auto z = tape->leaf(tensor_of(device, {1}, {2}));
    tape->backward(z * tape->constant(earlier.value()));
    CHECK(values_of(device, tape->gradient(z.slot())) == std::vector<float>{9});
  }
}

TEST_CASE("the gradient of a constant is refused") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const auto held = tape.constant(tensor_of(device, {1}, {2}));
  tape.backward(x * held);
  for (const glia::gradient_slot slot : {held.slot(), (held * held).slot()}) {
    CHECK(test::contains(
        message_of<glia::value_error>([&] { (void)tape.gradient(slot); }),
        "expected a variable with a gradient, got a constant, or the result of ops on constants; "
        "make the variable with tape.leaf(value)"));
  }
}

TEST_CASE("what was recorded is used up by the first backward") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const auto y = x * 2.0;
  tape.backward(y);
  CHECK(test::contains(message_of<glia::value_error>([&] { tape.backward(y); }),
                       "an earlier call has consumed the recorded ops"));
  tape.backward(x * x);  // recorded since
  CHECK(values_of(device, tape.take_gradient(x.slot())) == std::vector<float>{8});
}

TEST_CASE("an operand that is no tensor is refused by its name") {
  const glia::cpu<float> device;
  glia::tape tape(device);
  const auto x = tape.leaf(tensor_of(device, {1}, {3}));
  const glia::targets of_classes;
  CHECK(test::contains(message_of<glia::value_error>([&] { (void)(x - of_classes.values); }),
                       "an operand of + - * / is an empty tensor; the targets"));
}

namespace {

/// Returns the operand of each square.
class returning_backend final : public test::forwarding_backend {
 public:
  using forwarding_backend::forwarding_backend;
  void run(const glia::kernel_call& call) const override {
    if (call.as<kernels::unary>() != nullptr) {
      call.results[0] = std::move(call.operands[0]);
    } else {
      forwarding_backend::run(call);
    }
  }
};

}  // namespace

TEST_CASE("a result that is an operand stays valid when its tape is gone") {
  const glia::cpu<float> host;
  const glia::device device(std::make_shared<const returning_backend>(host));
  glia::tensor result;
  {
    glia::tape tape(device);
    const auto x = tape.leaf(tensor_of(host, {2}, {3, 4}));
    result = glia::ops::square(x + x).value();
  }
  const auto other = tensor_of(host, {2}, {0, 0});  // would take memory that nobody counts
  CHECK(values_of(host, result) == std::vector<float>{6, 8});
}
