#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/kernel.hpp"

namespace glia {

/// The elements that share a mean and a variance. `batch`: all rows of a channel (last axis).
/// `layer`: all features (last axis) of a row. `group`: all positions of a group of channels in a
/// sample. `rms`: as in `layer`, but with 0 instead of the mean.
enum class normalization : std::uint8_t { batch, layer, group, rms };

namespace kernels {

/// Returns whether each row has its own statistics, as in `layer` and `rms`.
[[nodiscard]] constexpr bool is_by_rows(normalization kind) {
  return kind == normalization::layer || kind == normalization::rms;
}

/// Returns the shape of the statistics of `normalize`: (C) for `batch`, (number of rows) for
/// `layer`, (N, groups) for `group`, and the shape of x without its last axis for `rms`.
[[nodiscard]] inline shape statistics_shape(const shape& x, normalization kind,
                                            std::size_t groups = 1) {
  require<shape_error>(x.rank() >= 2 && x.size() > 0,
                       "normalization: expected a non-empty batch with at least 2 axes, got ", x);
  require<value_error>(groups > 0 && x.back() % groups == 0, "normalization: ", groups,
                       " groups do not divide ", x.back(), " channels");
  switch (kind) {
    case normalization::batch:
      return {x.back()};
    case normalization::layer:
      return {row_count(x)};
    case normalization::group:
      return {x[0], groups};
    case normalization::rms:
      break;
  }
  shape rows;
  for (std::size_t axis = 0; axis + 1 < x.rank(); ++axis) {
    rows.push_back(x[axis]);
  }
  return rows;
}

/// Returns whether the leading axis of the statistics is the batch axis. For `layer`, this holds
/// only if a sample is one row.
[[nodiscard]] constexpr bool has_statistics_by_sample(normalization kind, std::size_t rank) {
  return kind == normalization::group || kind == normalization::rms ||
         (kind == normalization::layer && rank == 2);
}

/// Computes gamma (x - mean) / sqrt(variance + epsilon) + beta with the statistics of x. The
/// variance of n numbers is the sum of (x - mean)^2, divided by n. gamma and beta have the extent
/// of the last axis.
///
/// The results are accurate for numbers of any size, even if the mean is much larger than the
/// standard deviation or squares would overflow. A variance that is too large for the type is
/// infinity. If all x that share a mean are equal, the result is beta.
struct normalize {
  normalization kind = normalization::batch;
  double epsilon = 0;
  std::size_t groups = 1;  ///< number of groups, for `group`

  static constexpr std::string_view name = "normalize";
  static constexpr std::size_t operands = 3;  // x, gamma, beta
  static constexpr std::size_t results = 3;   // y, mean, variance

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& x, const tensor_spec& gamma,
                                                  const tensor_spec& beta) const {
    require_elements("normalize", x, element::real);
    const shape statistics = statistics_shape(x.shape, kind, groups);
    require_same_shape("normalize: gamma", {x.shape.back()}, gamma.shape);
    require_same_shape("normalize: beta", {x.shape.back()}, beta.shape);
    return {x, real_of(statistics), real_of(statistics)};
  }
  [[nodiscard]] static double flops(const tensor_spec& x, const tensor_spec&, const tensor_spec&) {
    return 8 * detail::count(x.shape);
  }
  [[nodiscard]] batch_axes<3, 3> axes(const tensor_spec& x, const tensor_spec&,
                                      const tensor_spec&) const {
    return has_statistics_by_sample(kind, x.shape.rank()) ? detail::by_rows<normalize>(2)
                                                          : batch_axes<3, 3>::whole();
  }
  friend bool operator==(const normalize&, const normalize&) = default;
};

/// Computes the gradients of `normalize` with respect to x, gamma and beta.
struct normalize_gradient {
  normalization kind = normalization::batch;
  double epsilon = 0;
  std::size_t groups = 1;  ///< number of groups, for `group`

  static constexpr std::string_view name = "normalize_gradient";
  static constexpr std::size_t operands = 5;  // dy, x, gamma, mean, variance
  static constexpr std::size_t results = 3;   // dx, dgamma, dbeta

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& dy, const tensor_spec& x,
                                                  const tensor_spec& gamma, const tensor_spec& mean,
                                                  const tensor_spec& variance) const {
    const shape statistics = statistics_shape(x.shape, kind, groups);
    require_same_shape("normalize_gradient: dy", x.shape, dy.shape);
    require_same_shape("normalize_gradient: gamma", {x.shape.back()}, gamma.shape);
    require_same_shape("normalize_gradient: mean", statistics, mean.shape);
    require_same_shape("normalize_gradient: variance", statistics, variance.shape);
    return {x, gamma, gamma};
  }
  [[nodiscard]] static double flops(const tensor_spec& dy, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&, const tensor_spec&) {
    return 12 * detail::count(dy.shape);
  }
  [[nodiscard]] batch_axes<5, 3> axes(const tensor_spec& dy, const tensor_spec&, const tensor_spec&,
                                      const tensor_spec&, const tensor_spec&) const {
    if (!has_statistics_by_sample(kind, dy.shape.rank())) {
      return batch_axes<5, 3>::whole();
    }
    constexpr auto rows = batch_axis::rows;
    return {{rows, rows, batch_axis::shared, rows, rows},
            {rows, batch_axis::summed, batch_axis::summed}};
  }
  friend bool operator==(const normalize_gradient&, const normalize_gradient&) = default;
};

/// The mean and the variance, results 1 and 2, have no gradient of their own.
[[nodiscard]] constexpr saved_tensors saved_for_gradients(const normalize&) {
  return {.operands = 0b11, .results = 0b110};
}
template <class Call>
void add_gradients(const normalize& k, Call& call) {
  auto gradients = call.run(normalize_gradient{k.kind, k.epsilon, k.groups}, call.dy(),
                            call.operand(0), call.operand(1), call.result(1), call.result(2));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (call.wants(i)) {
      call.add(i, std::move(gradients[i]));
    }
  }
}

}  // namespace kernels

}  // namespace glia
