#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/kernel.hpp"

namespace glia {

/// Which rows share a mean and a variance: `batch` normalises every channel (last axis) over all
/// rows, `layer` every row over its features (last axis).
enum class normalization : std::uint8_t { batch, layer };

/// The shape of the statistics of `normalize`: (C) for batch, one a row for layer.
[[nodiscard]] inline shape statistics_shape(const shape& x, normalization kind) {
  require<shape_error>(x.rank() >= 2 && x.size() > 0,
                       "normalisation: expected a non-empty batch of at least 2 axes, got ", x);
  return {kind == normalization::batch ? x.back() : row_count(x)};
}

}  // namespace glia

namespace glia::kernels {

/// gamma (x - mean) / sqrt(variance + epsilon) + beta with the statistics of x itself, the variance
/// being divided by the count; gamma and beta have the extent of the last axis.
struct normalize {
  normalization kind = normalization::batch;
  double epsilon = 0;

  static constexpr std::string_view name = "normalize";
  static constexpr std::size_t operands = 3;  // x, gamma, beta
  static constexpr std::size_t results = 3;   // y, mean, variance

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& x, const tensor_spec& gamma,
                                                  const tensor_spec& beta) const {
    require_elements("normalize", x, element::real);
    const shape statistics = statistics_shape(x.shape, kind);
    require_same_shape("normalize: gamma", {x.shape.back()}, gamma.shape);
    require_same_shape("normalize: beta", {x.shape.back()}, beta.shape);
    return {x, real_of(statistics), real_of(statistics)};
  }
  [[nodiscard]] static double flops(const tensor_spec& x, const tensor_spec&, const tensor_spec&) {
    return 8 * detail::count(x.shape);
  }
  [[nodiscard]] batch_axes<3, 3> axes(const tensor_spec& x, const tensor_spec&,
                                      const tensor_spec&) const {
    // A row's statistics lie in rows of their own only where a sample is one row.
    return kind == normalization::layer && x.shape.rank() == 2 ? detail::by_rows<normalize>(2)
                                                               : batch_axes<3, 3>::whole();
  }
  friend bool operator==(const normalize&, const normalize&) = default;
};

/// Its adjoints to x, gamma and beta.
struct normalize_gradient {
  normalization kind = normalization::batch;
  double epsilon = 0;

  static constexpr std::string_view name = "normalize_gradient";
  static constexpr std::size_t operands = 5;  // dy, x, gamma, mean, variance
  static constexpr std::size_t results = 3;   // dx, dgamma, dbeta

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& dy, const tensor_spec& x,
                                                  const tensor_spec& gamma, const tensor_spec& mean,
                                                  const tensor_spec& variance) const {
    const shape statistics = statistics_shape(x.shape, kind);
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
    if (kind == normalization::batch || dy.shape.rank() != 2) {
      return batch_axes<5, 3>::whole();
    }
    constexpr auto rows = batch_axis::rows;
    return {{rows, rows, batch_axis::shared, rows, rows},
            {rows, batch_axis::summed, batch_axis::summed}};
  }
  friend bool operator==(const normalize_gradient&, const normalize_gradient&) = default;
};

}  // namespace glia::kernels
