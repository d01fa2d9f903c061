#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

/// The factor of a matrix product that is transposed, if any.
enum class transpose : std::uint8_t { none, first, second };

namespace kernels {

/// The sizes of one matrix product C (m, n) = A (m, k) B (k, n), after transposing.
struct matmul_sizes {
  std::size_t m;
  std::size_t n;
  std::size_t k;

  [[nodiscard]] double flops() const {
    return 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

}  // namespace kernels

namespace detail {

/// Returns the sizes of a product of the matrices in the last two axes of a and b. Throws
/// `shape_error` if the inner extents differ.
[[nodiscard]] inline kernels::matmul_sizes last_axes_rule(std::string_view caller, const shape& a,
                                                          const shape& b,
                                                          transpose transposed_factor) {
  const std::size_t row = a.rank() - 2;
  const std::size_t column = a.rank() - 1;
  const bool ta = transposed_factor == transpose::first;
  const bool tb = transposed_factor == transpose::second;
  const kernels::matmul_sizes sizes{a[ta ? column : row], b[tb ? row : column],
                                    a[ta ? row : column]};
  require<shape_error>(sizes.k == b[tb ? column : row], caller, ": the inner extents differ: ", a,
                       ta ? " transposed" : "", " times ", b, tb ? " transposed" : "");
  return sizes;
}

}  // namespace detail

namespace kernels {

[[nodiscard]] inline matmul_sizes matmul_rule(const shape& a, const shape& b,
                                              transpose transposed_factor) {
  require<shape_error>(a.rank() == 2 && b.rank() == 2,
                       "matmul: expected two matrices (rank 2), got shapes ", a, " and ", b);
  return detail::last_axes_rule("matmul", a, b, transposed_factor);
}

/// Returns the sizes of each matrix product in a batch. Throws `shape_error` if the shapes do not
/// fit.
[[nodiscard]] inline matmul_sizes batched_matmul_rule(const shape& a, const shape& b,
                                                      transpose transposed_factor) {
  const std::size_t rank = a.rank();
  require<shape_error>(
      rank > 2 && b.rank() == rank && std::equal(a.begin(), a.end() - 2, b.begin()),
      "batched_matmul: expected two batches of matrices (..., m, k) and (..., k, n), with the same "
      "extents in all axes but the last two, got shapes ",
      a, " and ", b, "; use broadcast_to to repeat one of them, or matmul for two matrices");
  return detail::last_axes_rule("batched_matmul", a, b, transposed_factor);
}

/// Throws `shape_error` if a bias exists and does not have one number for each output.
inline void require_bias(std::string_view caller, const tensor_spec& bias, std::size_t outputs) {
  require<shape_error>(!bias || bias == real_of({outputs}), caller, ": expected a bias of shape ",
                       shape{outputs}, ", got ", bias.shape);
}

/// Computes the matrix product of A (m, k) and B (k, n). `transposed_factor` tells which factor is
/// stored transposed, if any.
struct matmul {
  transpose transposed_factor = transpose::none;

  static constexpr std::string_view name = "matmul";
  static constexpr std::size_t operands = 2;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& a, const tensor_spec& b) const {
    require_elements("matmul", a, element::real);
    require_elements("matmul", b, element::real);
    const matmul_sizes s = matmul_rule(a.shape, b.shape, transposed_factor);
    return real_of({s.m, s.n});
  }
  [[nodiscard]] double flops(const tensor_spec& a, const tensor_spec& b) const {
    return matmul_rule(a.shape, b.shape, transposed_factor).flops();
  }
  [[nodiscard]] batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) const {
    if (transposed_factor == transpose::first) {
      return {{batch_axis::rows, batch_axis::rows}, {batch_axis::summed}};
    }
    return {{batch_axis::rows, batch_axis::shared}, {batch_axis::rows}};
  }
  friend bool operator==(const matmul&, const matmul&) = default;
};

/// Computes the matrix products of two batches of matrices, (..., m, k) and (..., k, n).
struct batched_matmul {
  transpose transposed_factor = transpose::none;

  static constexpr std::string_view name = "batched_matmul";
  static constexpr std::size_t operands = 2;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& a, const tensor_spec& b) const {
    require_elements("batched_matmul", a, element::real);
    require_elements("batched_matmul", b, element::real);
    const matmul_sizes s = batched_matmul_rule(a.shape, b.shape, transposed_factor);
    shape c = a.shape;
    c[c.rank() - 2] = s.m;
    c[c.rank() - 1] = s.n;
    return real_of(c);
  }
  [[nodiscard]] double flops(const tensor_spec& a, const tensor_spec& b) const {
    const shape leading(a.shape.begin(), a.shape.end() - 2);
    return detail::count(leading) *
           batched_matmul_rule(a.shape, b.shape, transposed_factor).flops();
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<batched_matmul>();
  }
  friend bool operator==(const batched_matmul&, const batched_matmul&) = default;
};

struct packed_dense;
struct pack_panels;

/// Computes map(x w + bias): x (N, I), w (I, O), bias (O) or no tensor.
struct dense {
  unary_map map = identity_map;

  static constexpr std::string_view name = "dense";
  static constexpr std::size_t operands = 3;  // x, w, bias
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& x, const tensor_spec& w,
                                          const tensor_spec& bias) {
    require_elements("dense", x, element::real);
    require_elements("dense", w, element::real);
    const matmul_sizes s = matmul_rule(x.shape, w.shape, transpose::none);
    require_bias("dense", bias, s.n);
    return real_of({s.m, s.n});
  }
  [[nodiscard]] double flops(const tensor_spec& x, const tensor_spec& w,
                             const tensor_spec& bias) const {
    const matmul_sizes s = matmul_rule(x.shape, w.shape, transpose::none);
    return s.flops() + detail::count({s.m, s.n}) * ((bias ? 1 : 0) + flops_of(map));
  }
  [[nodiscard]] static batch_axes<3, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    return detail::by_rows<dense>(2);
  }
  friend bool operator==(const dense&, const dense&) = default;
};

namespace derivatives {

/// Adds the gradients of a product of A and B, one of which may be stored transposed. If neither is
/// transposed, dA = dC B^T and dB = A^T dC.
template <class K, class Call>
void add_gradients_of_product(const K& k, Call& call) {
  const auto dy = call.dy();
  const auto add = [&](std::size_t operand, transpose side, const auto& a, const auto& b) {
    if (call.wants(operand)) {
      call.add(operand, call.run(K{side}, a, b));
    }
  };
  const auto& a = call.operand(0);
  const auto& b = call.operand(1);
  switch (k.transposed_factor) {
    case transpose::none:
      add(0, transpose::second, dy, b);
      add(1, transpose::first, a, dy);
      break;
    case transpose::first:
      add(0, transpose::second, b, dy);
      add(1, transpose::none, a, dy);
      break;
    case transpose::second:
      add(0, transpose::none, dy, b);
      add(1, transpose::first, dy, a);
      break;
  }
}

/// Adds the gradient of a bias, operand 2, that was added to all rows.
template <class Call, class Tensor>
void add_gradient_of_bias(Call& call, const Tensor& dy) {
  if (call.wants(2)) {
    call.add(2, call.run(sum_to{{dy.shape().back()}}, dy));
  }
}

/// Throws `value_error` if a kernel applies a function to its result: passes fuse such functions
/// with kernels after their gradients have been recorded.
inline void require_no_map(std::string_view kernel_name, const unary_map& map) {
  require<value_error>(map == identity_map, kernel_name, ": a kernel with a fused function has no ",
                       "derivative; run the function as a kernel of its own");
}

}  // namespace derivatives

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const matmul&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const matmul& k, Call& call) {
  derivatives::add_gradients_of_product(k, call);
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const batched_matmul&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const batched_matmul& k, Call& call) {
  derivatives::add_gradients_of_product(k, call);
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const dense&) {
  return {.operands = 0b11};
}
/// dx = dy w^T, dw = x^T dy, and the gradient of the bias is the sum of the rows of dy.
template <class Call>
void add_gradients(const dense& k, Call& call) {
  derivatives::require_no_map("dense", k.map);
  const auto dy = call.dy();
  derivatives::add_gradient_of_bias(call, dy);
  if (call.wants(1)) {
    call.add(1, call.run(matmul{transpose::first}, call.operand(0), dy));
  }
  if (call.wants(0)) {
    call.add(0, call.run(matmul{transpose::second}, dy, call.operand(1)));
  }
}

}  // namespace kernels

}  // namespace glia
