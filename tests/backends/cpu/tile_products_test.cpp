#include <cmath>
#include <cstdint>
#include <glia/backends/bfloat16_impl.hpp>
#include <optional>
#include <vector>

#include "backends/cpu/rounded_products.hpp"
#include "backends/cpu/tile_instructions.hpp"

using glia::cpu_loops::isa;
using test::drawn;
using test::values_of;

namespace {

glia::device tile_cpu(std::size_t threads, isa level = glia::cpu_loops::best_isa()) {
  return test::rounding_cpu(glia::bfloat16_tiles, threads, level);
}

/// Products of sizes that fill tiles and parts of sums, or do not.
std::vector<test::rounded_product> products() {
  using glia::transpose;
  std::vector<test::rounded_product> result = test::rounded_convolutions();
  for (const auto transposed : {transpose::none, transpose::first, transpose::second}) {
    const bool first = transposed == transpose::first;
    const bool second = transposed == transpose::second;
    for (const std::size_t m : {1U, 15U, 34U, 130U}) {
      for (const std::size_t k : {1U, 31U, 64U, 545U}) {
        for (const std::size_t n : {1U, 16U, 50U}) {
          result.push_back({glia::text(m, " x ", k, " x ", n, ", transposed factor ",
                                       static_cast<int>(transposed)),
                            [=](const glia::device& d) {
                              return d.run(
                                  kernels::matmul{transposed},
                                  drawn(d, first ? glia::shape{k, m} : glia::shape{m, k}, 1),
                                  drawn(d, second ? glia::shape{n, k} : glia::shape{k, n}, 2));
                            }});
        }
      }
    }
  }
  result.push_back(
      {"packed weights", [](const glia::device& d) {
         const auto w = drawn(d, {530, 70}, 2);
         const auto packed = d.run(kernels::pack_panels{}, w, glia::tensor{});
         return d.run(kernels::packed_dense{}, drawn(d, {1, 530}, 1), w, drawn(d, {70}, 3), packed);
       }});
  result.push_back({"a convolution with a window of one pixel", [](const glia::device& d) {
                      return d.run(kernels::conv2d{}, drawn(d, {3, 5, 7, 40}, 1),
                                   drawn(d, {1, 1, 40, 33}, 2), glia::tensor{});
                    }});
  result.push_back({"its gradient", [](const glia::device& d) {
                      return d.run(kernels::conv2d_kernel_gradient{}, drawn(d, {3, 5, 7, 40}, 1),
                                   drawn(d, {3, 5, 7, 33}, 2));
                    }});
  result.push_back({"a batch of products", [](const glia::device& d) {
                      return d.run(kernels::batched_matmul{}, drawn(d, {7, 34, 21}, 1),
                                   drawn(d, {7, 21, 18}, 2));
                    }});
  result.push_back({"a convolution without a bias", [](const glia::device& d) {
                      return d.run(kernels::conv2d{{3, 3}}, drawn(d, {2, 5, 7, 40}, 1),
                                   drawn(d, {3, 3, 40, 33}, 2), glia::tensor{});
                    }});
  return result;
}

/// Rounds to the nearest number with 8 significant bits, ties to even.
float rounded(float x) {
  int exponent = 0;
  const float fraction = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

}  // namespace

TEST_CASE("products in tiles add 32 products at a time, even and odd ones apart") {
  constexpr std::size_t k = 600;
  const glia::device device = tile_cpu(1);
  const glia::tensor a = drawn(device, {1, k}, 1);
  const glia::tensor b = drawn(device, {k, 1}, 2);
  const std::vector<float> x = values_of(device, a);
  const std::vector<float> y = values_of(device, b);
  float total = 0;
  for (std::size_t first = 0; first < k; first += 32) {
    float both[2] = {};
    for (std::size_t i = first; i < std::min(k, first + 32); ++i) {
      both[i % 2] = std::fma(rounded(x[i]), rounded(y[i]), both[i % 2]);
    }
    total += both[0] + both[1];
  }
  CHECK(values_of(device, device.run(kernels::matmul{}, a, b))[0] == total);
}

TEST_CASE("products in tiles have the same bits with all instruction sets and threads") {
  for (const test::rounded_product& p : products()) {
    test::require_same_bits(glia::bfloat16_tiles, p.name, p.run);
  }
}

TEST_CASE("tile registers give the bits of their emulation") {
#if defined(__x86_64__) && defined(__linux__)
  if (glia::cpu_loops::best_isa() < isa::avx512 || __builtin_cpu_supports("avx512bf16") == 0) {
    GLIA_SKIP("this processor has no AVX512-BF16");
  }
  // Without tile registers, each instruction for them is computed by a signal handler.
  std::optional<test::tile_processor> processor;
  if (!glia::platform::request_tile_registers()) {
    processor.emplace();
  }
  const glia::cpu_products in_registers{[](isa) -> const glia::cpu_loops::rounded_loops<float>* {
    namespace loops = glia::cpu_loops;
    return &loops::bfloat16_loops_of<loops::amx_bf16::vector_loops,
                                     loops::avx512_bf16::vector_loops>;
  }};
  for (const test::rounded_product& p : products()) {
    INFO(p.name);
    const std::vector<float> expected =
        values_of(tile_cpu(1, isa::avx2), p.run(tile_cpu(1, isa::avx2)));
    for (const std::size_t threads : {1U, 2U}) {
      const glia::device device = glia::cpu({.threads = threads, .products = in_registers});
      CHECK((values_of(device, p.run(device)) == expected));
    }
  }
  const glia::cpu_products emulated{[](isa) -> const glia::cpu_loops::rounded_loops<float>* {
    namespace loops = glia::cpu_loops;
    using avx512 = loops::avx512::vector_loops;
    return &loops::bfloat16_loops_of<loops::emulated_tiles<avx512>, avx512>;
  }};
  for (const std::size_t batch : {1U, 34U}) {
    CHECK((test::trained_networks(test::rounding_cpu(in_registers, 2), batch) ==
           test::trained_networks(test::rounding_cpu(emulated, 2), batch)));
  }
  CHECK((!processor.has_value() || test::tile_instructions_run > 0));
#else
  GLIA_SKIP("tile registers are used on Linux only");
#endif
}

TEST_CASE("a cpu with products in tiles conforms") {
  test::require_rounded_conformance({tile_cpu(2)});
}

TEST_CASE("products in tiles propagate NaN and infinity") {
  test::require_special_values({tile_cpu(2), tile_cpu(2, isa::avx2)});
}

TEST_CASE("long sums in tiles are accurate") { test::require_accurate_sums(glia::bfloat16_tiles); }

TEST_CASE("networks train in tiles with the same bits on any number of threads") {
  test::require_same_training(glia::bfloat16_tiles);
}
