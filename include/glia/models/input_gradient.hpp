#pragma once

#include <concepts>
#include <cstddef>

#include "glia/core/xtensor.hpp"
#include "glia/models/inner_values.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// Computes the gradient of one output of each sample with respect to the sample, for inputs
/// (N, ...). The result has the shape of the inputs, which can be any xtensor expression. The model
/// runs in inference mode, and its parameters do not change.
///
///     const auto gradient = glia::input_gradient(net, images, 3);  // of the score of class 3
///
/// `class_index` is the index of the output among the elements of a sample's output. The largest
/// magnitudes show the inputs that affect the output most; for images, this is a saliency map
/// (Simonyan, Vedaldi and Zisserman, "Deep Inside Convolutional Networks", 2013, section 3). If the
/// model ends in a softmax, the gradients are those of probabilities, which are nearly 0 where the
/// model is certain; use a model that returns logits. input_gradient<double> keeps all digits of a
/// backend that computes in double.
///
/// A call records and compiles the model. Any number of threads can call this function.
///
/// Throws `value_error` for a class index that is too large, and if the outputs have no gradient
/// with respect to the inputs, for example because an `embedding` reads them as integers. Throws
/// `shape_error` if the shape of the inputs does not fit.
template <std::floating_point T = float, layer Description, class Expression>
[[nodiscard]] xt::xarray<T> input_gradient(const model<Description>& net,
                                           const xt::xexpression<Expression>& inputs,
                                           std::size_t class_index,
                                           const predict_options& options = {}) {
  const xt::xarray<T>& x = inputs.derived_cast();
  const detail::score_gradients gradients{class_index};
  const auto found = detail::compute_inner_values(net.core(), x, options.batch_size,
                                                  "input_gradient", {}, &gradients);
  return detail::to_array(found.shape, found.gradients);
}

}  // namespace glia
