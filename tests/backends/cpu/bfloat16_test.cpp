#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpu/rounded_products.hpp"

using glia::cpu_loops::isa;
using test::drawn;
using test::tensor_of;
using test::values_of;

namespace {

glia::device rounding_cpu(std::size_t threads, isa level = glia::cpu_loops::best_isa()) {
  return test::rounding_cpu(glia::bfloat16, threads, level);
}

void require_same_bits(const std::string& name, const auto& product) {
  test::require_same_bits(glia::bfloat16, name, product);
}

}  // namespace

TEST_CASE("products in bfloat16 have the same bits with all instruction sets and threads") {
  using glia::transpose;
  for (const auto transposed : {transpose::none, transpose::first, transpose::second}) {
    const bool first = transposed == transpose::first;
    const bool second = transposed == transpose::second;
    for (const std::size_t m : {1U, 2U, 13U, 49U, 300U}) {
      for (const std::size_t k : {1U, 2U, 255U, 513U, 1030U}) {
        for (const std::size_t n : {1U, 5U, 33U, 130U}) {
          require_same_bits(glia::text(m, " x ", k, " x ", n, ", transposed factor ",
                                       static_cast<int>(transposed)),
                            [&](const glia::device& d) {
                              return d.run(
                                  kernels::matmul{transposed},
                                  drawn(d, first ? glia::shape{k, m} : glia::shape{m, k}, 1),
                                  drawn(d, second ? glia::shape{n, k} : glia::shape{k, n}, 2));
                            });
        }
      }
    }
    require_same_bits("a batch of products", [&](const glia::device& d) {
      return d.run(kernels::batched_matmul{transposed},
                   drawn(d, first ? glia::shape{7, 21, 34} : glia::shape{7, 34, 21}, 1),
                   drawn(d, second ? glia::shape{7, 18, 21} : glia::shape{7, 21, 18}, 2));
    });
  }
  require_same_bits("sums of more than 16,384 products", [](const glia::device& d) {
    return d.run(kernels::matmul{}, drawn(d, {3, 20000}, 1), drawn(d, {20000, 5}, 2));
  });
  require_same_bits("packed weights", [](const glia::device& d) {
    const auto w = drawn(d, {530, 70}, 2);
    const auto packed = d.run(kernels::pack_panels{}, w, glia::tensor{});
    return d.run(kernels::packed_dense{}, drawn(d, {1, 530}, 1), w, drawn(d, {70}, 3), packed);
  });
}

TEST_CASE("convolutions in bfloat16 have the same bits with all instruction sets and threads") {
  for (const test::rounded_product& p : test::rounded_convolutions()) {
    require_same_bits(p.name, p.run);
  }
}

TEST_CASE("factors are rounded to the nearest number in bfloat16") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float largest = std::numeric_limits<float>::max();
  constexpr float denormal = 1e-40F;
  // Numbers with 7 bits after the first, ties to even, and numbers just above ties.
  const std::vector<float> given{
      1,       1.00390625F, 1.01171875F, 1.00390637F, -1.01171875F, 3e-39F,
      largest, -infinity,   denormal,    nan,         257,          0};
  const std::vector<float> rounded{1,        1,         1.015625F, 1.0078125F, -1.015625F, 0,
                                   infinity, -infinity, 0,         nan,        256,        0};
  for (const isa level : {isa::baseline, isa::avx2, isa::avx512}) {
    const glia::device device = rounding_cpu(1, level);
    for (std::size_t i = 0; i < given.size(); ++i) {
      INFO(given[i]);
      const auto x = tensor_of(device, {1, 1}, {given[i]});
      const auto unit = tensor_of(device, {1, 1}, {1});
      for (const auto& product :
           {device.run(kernels::matmul{}, x, unit), device.run(kernels::matmul{}, unit, x)}) {
        const float actual = values_of(device, product)[0];
        CHECK((actual == rounded[i] || (std::isnan(actual) && std::isnan(rounded[i]))));
      }
    }
  }
}

TEST_CASE("a cpu with products in bfloat16 conforms") {
  test::require_rounded_conformance(
      {rounding_cpu(3), rounding_cpu(2, isa::avx2), rounding_cpu(1, isa::baseline)});
}

TEST_CASE("products in bfloat16 propagate NaN and infinity") {
  test::require_special_values({rounding_cpu(2), rounding_cpu(2, isa::avx2)});
}

TEST_CASE("long sums in bfloat16 are accurate") { test::require_accurate_sums(glia::bfloat16); }

TEST_CASE("networks train in bfloat16 with the same bits on any number of threads") {
  test::require_same_training(glia::bfloat16);
}

TEST_CASE("products in bfloat16 need float numbers") {
  CHECK(test::message_of<glia::value_error>([] {
          glia::cpu<double>({.products = glia::bfloat16});
        }) == "cpu: products in bfloat16 need a device of float numbers, cpu<float>");
}
