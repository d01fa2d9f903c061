#pragma once

#include <cstddef>

#include "glia/image/image.hpp"
#include "glia/image/resize.hpp"

namespace glia {

/// The way in which an image is resized to other proportions.
enum class image_fit {
  stretch,  ///< Resizes each axis separately, as Keras does; distorts the image.
  crop,     ///< Keeps the proportions, and cuts off both ends of the longer side.
};

namespace detail {

[[nodiscard]] inline image fitted(const image& picture, std::size_t height, std::size_t width,
                                  image_fit fit) {
  return fit == image_fit::stretch ? resize(picture, height, width)
                                   : resize_and_crop(picture, height, width);
}

}  // namespace detail

}  // namespace glia
