#include <cmath>
#include <glia/backends/cpu.hpp>
#include <glia/backends/reference.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("cross-entropy keeps its digits for large logits and for classes that cannot be") {
  const auto loss = [](const auto& device, const std::vector<float>& x,
                       const std::vector<float>& t) {
    return test::values_of(
        device, device.run(kernels::softmax_cross_entropy{}, test::tensor_of(device, {1, 3}, x),
                           test::tensor_of(device, {1, 3}, t))[0])[0];
  };
  const auto both = [&](const auto& device) {
    CHECK(std::abs(loss(device, {30000, 30001, 29990}, {0, 1, 0}) - 0.31327F) < 1e-5F);
    CHECK(std::abs(loss(device, {1, -INFINITY, 2}, {0, 0, 1}) - 0.313262F) < 1e-5F);
    CHECK(loss(device, {1, -INFINITY, 2}, {0, 1, 0}) == INFINITY);
    CHECK(std::isnan(loss(device, {1, NAN, 2}, {0, 0, 1})));
  };
  both(glia::cpu<float>({.threads = 1}));
  both(glia::reference<float>());
}

TEST_CASE("accuracy counts what argmax finds, and nothing where an output is not a number") {
  const glia::cpu<float> device({.threads = 1});
  const auto hits = [&](const std::vector<float>& scores, std::int32_t truth, std::size_t k) {
    const std::vector<std::int32_t> classes{truth};
    return test::values_of(
        device,
        device.run(kernels::in_top_k{k}, test::tensor_of(device, {1, scores.size()}, scores),
                   device.from_host(std::span<const std::int32_t>(classes), {1})))[0];
  };
  CHECK(hits({0, 0, 0}, 0, 1) == 1);
  CHECK(hits({0, 0, 0}, 1, 1) == 0);
  CHECK(hits({0, 0, 0}, 1, 2) == 1);
  CHECK(hits({NAN, NAN, NAN}, 0, 1) == 0);
  CHECK(hits({3, 1, NAN}, 0, 1) == 0);
  CHECK(hits({3, 1, 2}, 2, 2) == 1);
}
