#pragma once

#include <concepts>
#include <cstddef>
#include <string>

#include "glia/core/xtensor.hpp"
#include "glia/models/inner_values.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// The options of `layer_output`.
struct layer_output_options {
  std::size_t call = 0;  ///< Number of the call, for a `shared` layer that runs several times.
  std::size_t batch_size = 0;  ///< Number of samples in a batch; see `predict_options`.
};

/// Computes the outputs (N, ...) of a layer inside a model, for inputs (N, ...). The inputs can be
/// any xtensor expression. The model runs in inference mode.
///
///     const auto features = glia::layer_output(net, "conv2d_1", images);
///
/// `layer` is a name that `summary` prints, or the name of a composition: that of `named`,
/// `shared`, `input` or `output`, or the type and number of a `parallel` or `residual`, such as
/// "residual_0". layer_output<double> keeps all digits of a backend that computes in double.
///
/// A call records and compiles the model. To compute outputs of the same layer often, make a model
/// that ends there. Any number of threads can call this function.
///
/// Throws `value_error` for an unknown layer or call, `shape_error` if the shape of the inputs does
/// not fit or if the layer does not have one row for each sample, and `data_error` if a layer such
/// as `embedding` needs integers and the inputs contain other numbers.
template <std::floating_point T = float, layer Description, class Expression>
[[nodiscard]] xt::xarray<T> layer_output(const model<Description>& net, const std::string& layer,
                                         const xt::xexpression<Expression>& inputs,
                                         const layer_output_options& options = {}) {
  require<value_error>(!layer.empty(),
                       "layer_output: expected the name of a layer, got an empty "
                       "string; summary prints the names");
  const xt::xarray<T>& x = inputs.derived_cast();
  const auto found = detail::compute_inner_values(net.core(), x, options.batch_size, "layer_output",
                                                  {layer, options.call});
  return detail::to_array(found.shape, found.values);
}

}  // namespace glia
