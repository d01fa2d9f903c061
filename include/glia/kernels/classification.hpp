#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

/// Computes exp(x) / sum(exp(x)) over the last axis.
struct softmax {
  static constexpr std::string_view name = "softmax";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& x) {
    require_elements("softmax", x, element::real);
    require<shape_error>(x.shape.rank() > 0, "softmax: expected a tensor (..., K), got a number");
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec& x) { return 12 * detail::count(x.shape); }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec& x) {
    return x.shape.rank() > 1 ? detail::by_rows<softmax>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const softmax&, const softmax&) = default;
};

/// Computes the gradient of `softmax` from its result y.
struct softmax_gradient {
  static constexpr std::string_view name = "softmax_gradient";
  static constexpr std::size_t operands = 2;  // dy, y
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& dy, const tensor_spec& y) {
    require_elements("softmax_gradient", dy, element::real);
    require_same_shape("softmax_gradient", y.shape, dy.shape);
    return dy;
  }
  [[nodiscard]] static double flops(const tensor_spec& dy, const tensor_spec&) {
    return 4 * detail::count(dy.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec& dy, const tensor_spec&) {
    return dy.shape.rank() > 1 ? detail::by_rows<softmax_gradient>() : batch_axes<2, 1>::whole();
  }
  friend bool operator==(const softmax_gradient&, const softmax_gradient&) = default;
};

/// Computes -sum_k targets_k ln softmax(logits)_k over the last axis. Logits (..., K) give one loss
/// for each row, (...). Also returns the softmax (..., K).
///
/// Targets need not sum to 1. Classes with a target of 0 are ignored. If all targets of a row are
/// 0, its loss and gradient are 0 for any logits. If one logit of a row is infinity, its class has
/// the probability 1. If several are, the loss of the row is NaN.
struct softmax_cross_entropy {
  static constexpr std::string_view name = "softmax_cross_entropy";
  static constexpr std::size_t operands = 2;  // logits, targets
  static constexpr std::size_t results = 2;   // loss, probabilities
  static constexpr overwrite overwrites[] = {{1, 0}};

  [[nodiscard]] static std::array<tensor_spec, 2> result(const tensor_spec& logits,
                                                         const tensor_spec& targets) {
    require_elements("softmax_cross_entropy", logits, element::real);
    require_elements("softmax_cross_entropy: targets", targets, element::real);
    require<shape_error>(logits.shape.rank() >= 2,
                         "softmax_cross_entropy: expected logits (N, ..., K), got ", logits.shape);
    require_same_shape("softmax_cross_entropy: targets", logits.shape, targets.shape);
    return {real_of(without_last_axis(logits.shape)), logits};
  }
  [[nodiscard]] static double flops(const tensor_spec& logits, const tensor_spec&) {
    return 15 * detail::count(logits.shape);
  }
  [[nodiscard]] static batch_axes<2, 2> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<softmax_cross_entropy>();
  }
  friend bool operator==(const softmax_cross_entropy&, const softmax_cross_entropy&) = default;
};

/// Computes the gradient of `softmax_cross_entropy` with respect to the logits, from the gradient
/// of each row's loss.
struct softmax_cross_entropy_gradient {
  static constexpr std::string_view name = "softmax_cross_entropy_gradient";
  static constexpr std::size_t operands = 3;  // dloss, probabilities, targets
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 1}};

  [[nodiscard]] static tensor_spec result(const tensor_spec& dloss,
                                          const tensor_spec& probabilities,
                                          const tensor_spec& targets) {
    require_elements("softmax_cross_entropy_gradient", probabilities, element::real);
    require_same_shape("softmax_cross_entropy_gradient: targets", probabilities.shape,
                       targets.shape);
    require_same_shape("softmax_cross_entropy_gradient: dloss",
                       without_last_axis(probabilities.shape), dloss.shape);
    return probabilities;
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec& probabilities,
                                    const tensor_spec&) {
    return 3 * detail::count(probabilities.shape);
  }
  [[nodiscard]] static batch_axes<3, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    return detail::by_rows<softmax_cross_entropy_gradient>();
  }
  friend bool operator==(const softmax_cross_entropy_gradient&,
                         const softmax_cross_entropy_gradient&) = default;
};

/// Returns a row of K numbers for each class: `on_value` in the column of the class, `off_value` in
/// the other columns. Classes (...) give rows (..., K). A class that is not in 0 ... K - 1 gives a
/// row of `off_value`.
struct one_hot {
  std::size_t count = 0;  ///< number of classes, K
  double on_value = 1;
  double off_value = 0;

  static constexpr std::string_view name = "one_hot";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& classes) const {
    require_elements("one_hot", classes, element::index);
    require<shape_error>(classes.shape.rank() < shape::max_rank, "one_hot: classes of shape ",
                         classes.shape, " cannot have another axis");
    shape rows = classes.shape;
    rows.push_back(count);
    return real_of(rows);
  }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec& classes) {
    return classes.shape.rank() > 0 ? detail::by_rows<one_hot>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const one_hot&, const one_hot&) = default;
};

/// Returns the column of the highest score of each row, or the first of several equal ones.
struct argmax {
  static constexpr std::string_view name = "argmax";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& x) {
    require_elements("argmax", x, element::real);
    require<shape_error>(x.shape.rank() > 0, "argmax: expected a tensor (..., K), got a number");
    return {{row_count(x.shape)}, element::index};
  }
  [[nodiscard]] static double flops(const tensor_spec& x) { return detail::count(x.shape); }
  [[nodiscard]] static batch_axes<1, 1> axes(const tensor_spec& x) {
    return x.shape.rank() == 2 ? detail::by_rows<argmax>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const argmax&, const argmax&) = default;
};

/// Returns one number for each row, (N): 1 if the row's class has one of the k highest scores, else
/// 0. Of equal scores, the first counts as higher. A row with a NaN gives 0.
struct in_top_k {
  std::size_t k = 1;

  static constexpr std::string_view name = "in_top_k";
  static constexpr std::size_t operands = 2;  // scores, classes
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& scores, const tensor_spec& classes) {
    require_elements("in_top_k", scores, element::real);
    require_elements("in_top_k: classes", classes, element::index);
    require_same_shape("in_top_k: classes", {row_count(scores.shape)}, classes.shape);
    return real_of(classes.shape);
  }
  [[nodiscard]] static double flops(const tensor_spec& scores, const tensor_spec&) {
    return detail::count(scores.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec& scores, const tensor_spec&) {
    return scores.shape.rank() == 2 ? detail::by_rows<in_top_k>() : batch_axes<2, 1>::whole();
  }
  friend bool operator==(const in_top_k&, const in_top_k&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const softmax&) { return {.results = 1}; }
template <class Call>
void add_gradients(const softmax&, Call& call) {
  call.add(0, call.run(softmax_gradient{}, call.dy(), call.result(0)));
}

/// With s = sum(dy y) of a row, the result is y (dy - s).
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const softmax_gradient&) {
  return {.operands = 0b11};
}
template <class Call>
void add_gradients(const softmax_gradient& k, Call& call) {
  const auto dz = call.dy();
  const auto& dy = call.operand(0);
  const auto& y = call.operand(1);
  if (call.wants(0)) {
    call.add(0, call.run(k, dz, y));
  }
  if (call.wants(1)) {
    shape rows = call.shape_of(1);
    rows[rows.rank() - 1] = 1;
    const auto times = [&](const auto& a, const auto& b) {
      return call.run(binary{binary_function::multiply}, a, b);
    };
    const auto row_sum = [&](const auto& a) { return call.run(sum_to{rows}, times(a, y)); };
    call.add(1, times(dz, call.run(binary{binary_function::subtract}, dy, row_sum(dy))));
    call.add(1, call.run(unary{{unary_function::affine, -1, 0}}, times(dy, row_sum(dz))));
  }
}

/// Targets have no gradient.
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const softmax_cross_entropy&) {
  return {.operands = 0b10, .results = 0b10};
}
template <class Call>
void add_gradients(const softmax_cross_entropy&, Call& call) {
  call.add(0, call.run(softmax_cross_entropy_gradient{}, call.dy(), call.take_result(1),
                       call.take_operand(1)));
}

}  // namespace glia::kernels
