#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/kernel.hpp"

namespace glia {

/// Which elements share a mean and a variance: `batch` normalises every channel (last axis) over
/// all rows, `layer` every row over its features (last axis), `group` every group of channels of a
/// sample over all positions. `rms` is `layer` with a mean of 0, whatever the mean is.
enum class normalization : std::uint8_t { batch, layer, group, rms };

/// Whether the elements of a row, and no others, share their statistics.
[[nodiscard]] constexpr bool is_by_rows(normalization kind) {
  return kind == normalization::layer || kind == normalization::rms;
}

/// The shape of the statistics of `normalize`: (C) for batch, one a row for layer, (N, groups) for
/// group, (N, ...) without the features for rms.
[[nodiscard]] inline shape statistics_shape(const shape& x, normalization kind,
                                            std::size_t groups = 1) {
  require<shape_error>(x.rank() >= 2 && x.size() > 0,
                       "normalisation: expected a non-empty batch of at least 2 axes, got ", x);
  require<value_error>(groups > 0 && x.back() % groups == 0, "normalisation: ", groups,
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

/// Whether the statistics' leading axis counts samples. Those of layer lie in rows of their own
/// only where a sample is one row.
[[nodiscard]] constexpr bool has_statistics_by_sample(normalization kind, std::size_t rank) {
  return kind == normalization::group || kind == normalization::rms ||
         (kind == normalization::layer && rank == 2);
}

}  // namespace glia

namespace glia::kernels {

/// gamma (x - mean) / sqrt(variance + epsilon) + beta with the statistics of x itself, the variance
/// being divided by the count; gamma and beta have the extent of the last axis.
///
/// Numbers of any size have their normalised values, where their mean is far larger than their
/// deviation and where squares leave the range of numbers as well. A variance that does not fit is
/// infinity. Equal numbers give beta.
struct normalize {
  normalization kind = normalization::batch;
  double epsilon = 0;
  std::size_t groups = 1;  ///< of `group`

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

/// Its adjoints to x, gamma and beta.
struct normalize_gradient {
  normalization kind = normalization::batch;
  double epsilon = 0;
  std::size_t groups = 1;  ///< of `group`

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

}  // namespace glia::kernels
