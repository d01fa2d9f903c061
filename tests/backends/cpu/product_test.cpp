#include <cstdint>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// Odd numbers from -3 to 3, whose products add up without rounding, and no zeros, which would be
/// skipped.
std::vector<float> small_numbers(std::size_t n, std::uint32_t stream) {
  std::vector<float> result(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = glia::detail::random_bits({.seed = 1, .stream = stream}, i) >> 30U;
    result[i] = static_cast<float>(2 * static_cast<int>(bits) - 3);
  }
  return result;
}

/// Computes sums of the elements of each row, each times a number that depends on its column. A
/// matrix is stored with rows of `columns` elements or, if it is transposed, of `rows`.
std::vector<std::int64_t> weighted_sums(const std::vector<float>& matrix, std::size_t rows,
                                        std::size_t columns, bool transposed,
                                        const std::vector<std::int64_t>& weights) {
  std::vector<std::int64_t> result(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const float x = matrix[transposed ? j * rows + i : i * columns + j];
      result[i] += static_cast<std::int64_t>(x) * weights[j];
    }
  }
  return result;
}

/// Requires that the product of matrices (m, k) and (k, n) is exact: C v = A (B v) for a vector v
/// of large integers, whose elements show each error of C.
void require_exact_product(const glia::device& device, std::size_t m, std::size_t k, std::size_t n,
                           glia::transpose transposed_factor, bool packed) {
  INFO(m << " x " << k << " x " << n << ", transposed factor "
         << static_cast<int>(transposed_factor) << (packed ? ", packed" : ""));
  const bool first = transposed_factor == glia::transpose::first;
  const bool second = transposed_factor == glia::transpose::second;
  const std::vector<float> a = small_numbers(m * k, 1);
  const std::vector<float> b = small_numbers(k * n, 2);
  const auto on_device = [&](const std::vector<float>& values, const glia::shape& s) {
    return device.from_host(std::span<const float>(values), s);
  };
  const auto left = on_device(a, first ? glia::shape{k, m} : glia::shape{m, k});
  const auto right = on_device(b, second ? glia::shape{n, k} : glia::shape{k, n});
  std::vector<float> c;
  if (packed) {
    const auto bias = device.run(kernels::full{{n}, 0});
    c = test::values_of(device, device.run(kernels::packed_dense{}, left, right, bias,
                                           device.run(kernels::pack_panels{}, right, bias)));
  } else {
    c = test::values_of(device, device.run(kernels::matmul{transposed_factor}, left, right));
  }

  std::vector<std::int64_t> v(n);
  for (std::size_t j = 0; j < n; ++j) {
    v[j] = static_cast<std::int64_t>(glia::detail::random_bits({.seed = 1, .stream = 3}, j) >> 12U);
  }
  REQUIRE(weighted_sums(c, m, n, false, v) ==
          weighted_sums(a, m, k, first, weighted_sums(b, k, n, second, v)));
}

}  // namespace

TEST_CASE("products of any sizes are exact where no sum is rounded, on any instruction set") {
  using glia::transpose;
  for (const auto level :
       {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2, glia::cpu_loops::best_isa()}) {
    for (const std::size_t threads : {1U, 3U}) {
      const glia::cpu<float> device({.threads = threads, .isa = level});
      for (const auto transposed_factor : {transpose::none, transpose::first, transpose::second}) {
        // Around the sizes of tiles, pieces of rows, parts of long sums, copied panels and blocks.
        for (const std::size_t m : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 13U, 47U, 49U, 70U, 133U}) {
          for (const std::size_t n : {1U, 16U, 31U, 65U, 130U}) {
            require_exact_product(device, m, 17, n, transposed_factor, false);
            require_exact_product(device, m, 390, n, transposed_factor, false);
          }
        }
        // Rows that are longer than a page, and several slabs of columns.
        for (const std::size_t m : {1U, 3U, 8U, 50U}) {
          require_exact_product(device, m, 200, 2100, transposed_factor, false);
        }
        require_exact_product(device, 270, 800, 1500, transposed_factor, false);
        // Matrices that are not in a second-level or third-level cache, whose panels are copied in
        // groups.
        require_exact_product(device, 9, 190, 2100, transposed_factor, false);
        require_exact_product(device, 40, 400, 1003, transposed_factor, false);
        require_exact_product(device, 3, 780, 2701, transposed_factor, false);
        // A transposed left factor whose rows compete for the same cache sets.
        require_exact_product(device, 1030, 230, 70, transposed_factor, false);
      }
      for (const std::size_t m : {1U, 2U, 13U, 140U}) {
        require_exact_product(device, m, 390, 70, transpose::none, true);
      }
      require_exact_product(device, 270, 800, 1500, transpose::none, true);
    }
  }
}
