#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

struct attention_gradient;

/// Computes scaled dot-product attention of H heads, softmax(Q K^T / sqrt(D)) V, for queries Q (N,
/// T, H D), keys K (N, S, H D) and values V (N, S, H E). D and E are the sizes of a head. If
/// `causal`, the weights of step t are 0 for the keys of later steps, and S must equal T.
///
/// `first`, a number () if any, is for a block of a sequence whose earlier keys and values are
/// kept: the position of the block's first step among the S keys. Step t of the block reads the
/// keys up to `first` + t, so the attention must be causal. There are no gradients then.
///
/// The second result has two numbers for each row of Q K^T: its maximum m over the keys that count,
/// and 1 / sum(exp((x - m) / sqrt(D))) over the elements x of the row. The gradient computes the
/// weights from them; it would need T S numbers for each head otherwise. Optional for a backend.
/// Source: Dao et al., "FlashAttention", 2022.
struct attention {
  std::size_t num_heads = 1;
  bool causal = false;
  bool keeps = true;  ///< whether to return the second result

  static constexpr std::string_view name = "attention";
  static constexpr std::size_t operands = 4;  // queries, keys, values, first
  static constexpr std::size_t results = 2;   // y (N, T, H E), saved (N, H, 2, T)

  [[nodiscard]] std::array<tensor_spec, 2> result(const tensor_spec& queries,
                                                  const tensor_spec& keys,
                                                  const tensor_spec& values,
                                                  const tensor_spec& first) const {
    require_elements("attention: queries", queries, element::real);
    require_elements("attention: keys", keys, element::real);
    require_elements("attention: values", values, element::real);
    const auto fits = [&](const shape& s) {
      return s.rank() == 3 && s[0] == queries.shape[0] && s[2] > 0 && s[2] % num_heads == 0;
    };
    require<shape_error>(!first || (causal && first == real_of({}) && queries.shape.rank() == 3 &&
                                    keys.shape.rank() == 3 && queries.shape[1] <= keys.shape[1]),
                         "attention: expected causal attention, a position () and at least as many "
                         "keys as queries, got ",
                         causal ? "" : "no causal attention, ", first.shape, ", ", keys.shape,
                         " and ", queries.shape);
    require<shape_error>(num_heads > 0 && queries.shape.rank() == 3 && fits(queries.shape) &&
                             fits(keys.shape) && fits(values.shape) && keys.shape[1] > 0 &&
                             keys.shape[1] == values.shape[1] &&
                             keys.shape[2] == queries.shape[2] &&
                             (!causal || first || keys.shape[1] == queries.shape[1]),
                         "attention: expected queries (N, ", causal ? "S" : "T",
                         ", H D), keys (N, S, H D) and "
                         "values (N, S, H E) for H = ",
                         num_heads, " heads, with at least one head and one key, got ",
                         queries.shape, ", ", keys.shape, " and ", values.shape);
    const shape& q = queries.shape;
    return {real_of({q[0], q[1], values.shape[2]}),
            keeps ? real_of({q[0], num_heads, 2, q[1]}) : tensor_spec{}};
  }
  /// Counts two products and the exponentials. With a causal mask, half of the scores are needed.
  [[nodiscard]] double flops(const tensor_spec& queries, const tensor_spec& keys,
                             const tensor_spec& values, const tensor_spec&) const {
    return scores(queries, keys) *
           (2 * channels(queries) + 2 * channels(values) + operations_for_softmax);
  }
  [[nodiscard]] static batch_axes<4, 2> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<attention>(1);
  }
  friend bool operator==(const attention&, const attention&) = default;

 private:
  friend struct attention_gradient;
  static constexpr double operations_for_softmax = 14;

  [[nodiscard]] double scores(const tensor_spec& queries, const tensor_spec& keys) const {
    const auto steps = static_cast<double>(keys.shape[1]);
    return static_cast<double>(queries.shape[0] * num_heads * queries.shape[1]) *
           (causal ? (steps + 1) / 2 : steps);
  }
  [[nodiscard]] double channels(const tensor_spec& x) const {
    const std::size_t of_head = x.shape[2] / num_heads;
    return static_cast<double>(of_head);
  }
};

/// Computes the gradients of `attention`. With the weights P and the gradients dP = dY V^T, the
/// gradient of the scores is dS = P (dP - sum(P dP)), elementwise, where the sums are over the
/// keys. Then dQ = dS K / sqrt(D), dK = dS^T Q / sqrt(D) and dV = P^T dY.
struct attention_gradient {
  std::size_t num_heads = 1;
  bool causal = false;

  static constexpr std::string_view name = "attention_gradient";
  static constexpr std::size_t operands = 5;  // dy, queries, keys, values, saved
  static constexpr std::size_t results = 3;   // dqueries, dkeys, dvalues

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& dy, const tensor_spec& queries,
                                                  const tensor_spec& keys,
                                                  const tensor_spec& values,
                                                  const tensor_spec& saved) const {
    const auto forward = attention{num_heads, causal}.result(queries, keys, values, {});
    require_same_shape("attention_gradient: dy", forward[0].shape, dy.shape);
    require_same_shape("attention_gradient: saved", forward[1].shape, saved.shape);
    return {queries, keys, values};
  }
  /// Counts five products and the exponentials.
  [[nodiscard]] double flops(const tensor_spec&, const tensor_spec& queries,
                             const tensor_spec& keys, const tensor_spec& values,
                             const tensor_spec&) const {
    const attention forward{num_heads, causal};
    return forward.scores(queries, keys) *
           (6 * forward.channels(queries) + 4 * forward.channels(values) +
            attention::operations_for_softmax);
  }
  [[nodiscard]] static batch_axes<5, 3> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    return detail::by_rows<attention_gradient>();
  }
  friend bool operator==(const attention_gradient&, const attention_gradient&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const attention&) {
  return {.operands = 0b1111, .results = 0b10};
}
template <class Call>
void add_gradients(const attention& k, Call& call) {
  require<value_error>(!call.operand(3), "attention: a call with a position has no gradients");
  auto saved = call.result(1);
  if (!k.keeps) {  // recorded without a gradient in view
    const attention keeping{k.num_heads, k.causal};
    saved =
        call.run(keeping, call.operand(0), call.operand(1), call.operand(2), call.operand(3))[1];
  }
  auto [dqueries, dkeys, dvalues] =
      call.run(attention_gradient{k.num_heads, k.causal}, call.dy(), call.operand(0),
               call.operand(1), call.operand(2), saved);
  call.add(0, std::move(dqueries));
  call.add(1, std::move(dkeys));
  call.add(2, std::move(dvalues));
}

}  // namespace glia::kernels
