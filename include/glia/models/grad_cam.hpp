#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "glia/core/xtensor.hpp"
#include "glia/models/inner_values.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// The options of `grad_cam`.
struct grad_cam_options {
  /// Name of the layer or composition whose output (N, H', W', C) is read, usually the last
  /// convolution. Empty: the last layer with an output of this form.
  std::string layer = {};
  /// The class that the maps explain, or in general the index of an output among the elements of a
  /// sample's output. Empty: the class that the model predicts for each image, which is the largest
  /// output.
  std::optional<std::size_t> class_index = std::nullopt;
  std::size_t batch_size = 0;  ///< Number of images in a batch; see `predict_options`.
};

namespace detail {

/// Returns the name of the last layer or join of branches with an output (N, H, W, C). Throws
/// `value_error` if there is none.
[[nodiscard]] std::string last_image_layer(const model_plan& plan);

/// Returns the Grad-CAM maps (N, H, W) of activations (N, H, W, C) and of their gradients.
template <class T>
[[nodiscard]] xt::xarray<T> grad_cam_maps(const inner_values<T>& layer) {
  const std::size_t pixels = layer.shape[1] * layer.shape[2];
  const std::size_t channels = layer.shape[3];
  std::vector<T> maps(layer.shape[0] * pixels);
  std::vector<T> weights(channels);
  for (std::size_t n = 0; n < layer.shape[0]; ++n) {
    const T* const activations = layer.values.data() + n * pixels * channels;
    const T* const gradients = layer.gradients.data() + n * pixels * channels;
    T* const map = maps.data() + n * pixels;
    std::fill(weights.begin(), weights.end(), T(0));
    for (std::size_t i = 0; i < pixels * channels; ++i) {
      weights[i % channels] += gradients[i] / static_cast<T>(pixels);
    }
    T largest = 0;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      for (std::size_t channel = 0; channel < channels; ++channel) {
        map[pixel] += weights[channel] * activations[pixel * channels + channel];
      }
      map[pixel] = std::max(map[pixel], T(0));
      largest = std::max(largest, map[pixel]);
    }
    if (largest > 0) {
      std::for_each(map, map + pixels, [&](T& value) { value /= largest; });
    }
  }
  return to_array({layer.shape[0], layer.shape[1], layer.shape[2]}, maps);
}

}  // namespace detail

/// Computes Grad-CAM maps (N, H', W') for images (N, H, W, C): where the evidence for a class is in
/// each image. The images can be any xtensor expression. The model runs in inference mode.
///
///     const auto maps = glia::grad_cam(net, images, {.layer = "conv2d_1", .class_index = 3});
///
///     weight_c = mean over i, j of d score / d A_ijc
///     map_ij   = relu(sum over c of weight_c A_ijc), divided by its maximum
///
/// A (N, H', W', C') is the output of the layer, and the score is the model's output for the class.
/// Values are from 0 to 1. A map is 0 everywhere if nothing in the image is evidence for the class.
/// Selvaraju et al., "Grad-CAM: Visual Explanations from Deep Networks via Gradient-based
/// Localization", ICCV 2017, equations 1 and 2. As in Keras's example, each map is divided by its
/// maximum. If the model ends in a softmax, its gradients are nearly 0 where the model is certain;
/// use a model that returns logits, as the paper does.
///
/// `overlay` in glia/image/overlay.hpp draws a map on its image.
///
/// A call records and compiles the model. Any number of threads can call this function.
///
/// Throws `value_error` for an unknown layer, for a class index that is too large, and if the
/// outputs do not depend on the layer; layers inside of an `onnx_model` have no gradients. Throws
/// `shape_error` if the shape of the images does not fit or if the output of the layer is not
/// (N, H', W', C').
template <std::floating_point T = float, layer Description, class Expression>
[[nodiscard]] xt::xarray<T> grad_cam(const model<Description>& net,
                                     const xt::xexpression<Expression>& images,
                                     const grad_cam_options& options = {}) {
  const std::string layer =
      options.layer.empty() ? detail::last_image_layer(net.plan()) : options.layer;
  const xt::xarray<T>& x = images.derived_cast();
  const detail::score_gradients gradients{options.class_index};
  const auto found = detail::compute_inner_values(net.core(), x, options.batch_size, "grad_cam",
                                                  {layer}, &gradients);
  require<shape_error>(found.shape.rank() == 4,
                       "grad_cam: expected a layer with outputs (N, H, W, "
                       "C), got ",
                       batch_text(found.shape), " of the layer '", layer,
                       "'; choose a layer of images, such as the last convolution");
  return detail::grad_cam_maps(found);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/grad_cam_impl.hpp"
#endif
