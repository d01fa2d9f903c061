#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;
using test::tensor_of;
using test::values_of;

TEST_CASE("backward gives the gradients of all leaves, added over all uses") {
  const glia::cpu<float> device;
  glia::tape<glia::cpu<float>> on(device);
  const auto x = on.leaf(tensor_of(device, {2}, {3, 4}));
  const auto c = on.constant(tensor_of(device, {2}, {10, 20}));
  const auto y = glia::ops::sum(x * x + x * c);
  on.backward(y);
  CHECK(values_of(device, on.take_gradient(x.slot())) == std::vector<float>{16, 28});
  CHECK_FALSE(c.needs_gradient());
}

TEST_CASE("a branch that the result does not depend on gets no gradient") {
  const glia::cpu<float> device;
  glia::tape<glia::cpu<float>> on(device);
  const auto x = on.leaf(tensor_of(device, {1}, {3}));
  const auto unused = on.leaf(tensor_of(device, {1}, {5}));
  const auto side = unused * 2.0;
  on.backward(x * 2.0);
  CHECK(values_of(device, on.take_gradient(x.slot())) == std::vector<float>{2});
  CHECK_FALSE(on.take_gradient(unused.slot()));
}

TEST_CASE("differentiating what depends on no parameter is an error") {
  glia::tape<glia::cpu<float>> on{glia::cpu<float>()};
  const auto x = on.constant(on.device().run(kernels::full{{}, 1}));
  CHECK(test::contains(message_of<glia::value_error>([&] { on.backward(x * 2.0); }),
                       "depends on no parameter"));
}

TEST_CASE("adjoints let go of what they kept once they have run") {
  const glia::cpu<float> device;
  glia::tape<glia::cpu<float>> on(device);
  const auto x = on.leaf(tensor_of(device, {1}, {3}));
  const auto held = tensor_of(device, {1}, {7});
  const auto y = x * on.constant(held);
  CHECK_FALSE(held.unique());
  on.backward(y);
  CHECK(held.unique());
}

TEST_CASE("a tape that is cleared half way lets go of everything") {
  const glia::cpu<float> device;
  const auto held = tensor_of(device, {1}, {7});
  glia::tape<glia::cpu<float>> on(device);
  {
    const auto y = on.leaf(tensor_of(device, {1}, {3})) * on.constant(held);
    CHECK_FALSE(held.unique());
  }
  on.clear();
  CHECK(held.unique());
}
