#include <glia/backends/cpu.hpp>
#include <glia/testing/conformance.hpp>

#include "catch.hpp"
#include "tolerances.hpp"

namespace {

template <glia::backend B>
void require_conformance(const B& device) {
  const double allowed = sizeof(typename B::value_type) == sizeof(double) ? tolerance::double_kernel
                                                                          : tolerance::float_kernel;
  const auto results = glia::testing::run_conformance(device);
  CHECK(results.size() > 400);
  for (const auto& result : results) {
    INFO(result.name << ": error " << result.error << ", operands kept " << result.operands_kept
                     << ", reuse agrees " << result.reuse_agrees);
    CHECK(result.passed(allowed));
  }
}

/// The cpu backend with one kernel broken, to see that the suite notices.
struct broken : glia::cpu<float> {
  using glia::cpu<float>::cpu;
  [[nodiscard]] tensor softmax(tensor x) const {
    tensor y = glia::cpu<float>::softmax(x);
    y.data()[0] += 0.001F;
    return y;
  }
  /// Overwrites its operand although others may hold it.
  [[nodiscard]] tensor dropout(tensor x, double, const glia::random_key&, std::uint64_t) const {
    x.data()[0] = 0;
    return x;
  }
};

}  // namespace

TEST_CASE("reference conforms in float") { require_conformance(glia::reference<float>()); }
TEST_CASE("cpu conforms in float") { require_conformance(glia::cpu<float>()); }
TEST_CASE("cpu conforms in double") { require_conformance(glia::cpu<double>()); }
TEST_CASE("cpu conforms in float on three threads without AVX2") {
  require_conformance(glia::cpu<float>({.threads = 3, .isa = glia::cpu_loops::isa::baseline}));
}

TEST_CASE("the conformance suite notices a wrong number and a stolen operand") {
  std::size_t wrong = 0;
  std::size_t stolen = 0;
  for (const auto& result : glia::testing::run_conformance(broken())) {
    wrong +=
        result.name.starts_with("softmax of (7, 10)") && !result.passed(tolerance::float_kernel);
    stolen += result.name.starts_with("dropout") && !result.operands_kept;
  }
  CHECK(wrong >= 1);
  CHECK(stolen == 3);
}

TEST_CASE("the cpu backend gives the same bits for any number of threads") {
  const auto run = [](std::size_t threads) {
    const glia::cpu<float> device({.threads = threads});
    glia::testing::detail::bench<glia::cpu<float>> b(device, false);
    b.out(device.matmul(b.in({100, 784}, 1), b.in({784, 400}, 2), glia::transpose::none));
    b.out(device.matmul(b.sparse({784, 100}, 3), b.in({784, 400}, 4), glia::transpose::first));
    b.out(device.matmul(b.sparse({100, 300}, 5), b.in({401, 300}, 6), glia::transpose::second));
    const glia::window2d window{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
    b.out(device.conv2d_kernel_gradient(b.in({37, 9, 8, 3}, 7), b.in({37, 9, 8, 5}, 8), window, 1,
                                        {3, 3, 3, 5}));
    b.out(device.sum_to(b.in({3000, 37}, 9), {37}));
    b.out(device
              .normalize_gradient(glia::normalization::layer, b.in({300, 65}, 10),
                                  b.in({300, 65}, 11), b.in({65}, 12), b.in({300}, 13),
                                  b.in({300}, 14, 0.5F, 1), 1e-3)
              .gamma);
    return b.outputs();
  };
  const auto one = run(1);
  CHECK(one == run(2));
  CHECK(one == run(3));
}
