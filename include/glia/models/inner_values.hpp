#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/models/model_core.hpp"

namespace glia::detail {

/// A place in a model: the samples, or the output of a layer.
struct model_place {
  std::string layer = {};  ///< Name of the layer or composition; empty for the samples.
  std::size_t call = 0;    ///< Number of the layer's call, if it runs several times.
};

/// The gradients that `compute_inner_values` computes.
struct score_gradients {
  /// Index of the output whose gradient is computed, among the elements of a sample's output.
  /// Empty: the largest output of each sample.
  std::optional<std::size_t> output = std::nullopt;
};

/// The values at a place in a model for several samples, and the gradients with respect to them.
template <class T>
struct inner_values {
  glia::shape shape;         ///< Shape (N, ...).
  std::vector<T> values;     ///< Values, in row-major order.
  std::vector<T> gradients;  ///< Gradients of one output of each sample; empty if not requested.
};

/// Runs the model in inference mode on `count` samples, `batch_size` at a time, and returns the
/// values at a place. With `gradients`, also returns the gradients of one output of each sample
/// with respect to these values.
///
/// Error messages begin with `caller`. Throws `value_error` for an unknown layer, call or output,
/// and if the output has no gradient with respect to the values; `shape_error` if the layer does
/// not have one row for each sample; `data_error` if a layer needs integers and gets other numbers.
template <class T>
[[nodiscard]] inner_values<T> compute_inner_values(const model_core& net,
                                                   std::span<const T> samples, std::size_t count,
                                                   std::size_t batch_size, std::string_view caller,
                                                   const model_place& place,
                                                   const score_gradients* gradients = nullptr);

/// Makes an array of this shape from elements in row-major order.
template <class T>
[[nodiscard]] xt::xarray<T> to_array(const shape& extents, const std::vector<T>& elements) {
  xt::xarray<T> result(typename xt::xarray<T>::shape_type(extents.begin(), extents.end()));
  std::copy(elements.begin(), elements.end(), result.begin());
  return result;
}

/// Does what the other function does, for an array of samples (N, ...). Throws `shape_error` if
/// their shape does not fit the model.
template <class T>
[[nodiscard]] inner_values<T> compute_inner_values(const model_core& net,
                                                   const xt::xarray<T>& samples,
                                                   std::size_t batch_size, std::string_view caller,
                                                   const model_place& place,
                                                   const score_gradients* gradients = nullptr) {
  const shape extents(samples.shape().begin(), samples.shape().end());
  require<shape_error>(extents.rank() > 0 && extents == batch_of(extents[0], net.sample_shape()),
                       caller, ": expected samples of shape ",
                       batch_text(batch_of(1, net.sample_shape())), ", got ", extents);
  return compute_inner_values(net, std::span<const T>(samples.data(), samples.size()), extents[0],
                              batch_size_for(batch_size, net.sample_shape()), caller, place,
                              gradients);
}

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/models/inner_values_impl.hpp"
#endif
