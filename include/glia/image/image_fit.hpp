#pragma once

#include <cstddef>

#include "glia/image/image.hpp"
#include "glia/image/resize.hpp"

namespace glia {

/// The way in which an image is resized to other proportions.
enum class image_fit {
  stretch,  ///< resize each axis separately, as Keras does; distorts the image
  crop,     ///< keep the proportions, and cut off both ends of the longer side
};

namespace detail {

[[nodiscard]] inline image fitted(const image& picture, std::size_t height, std::size_t width,
                                  image_fit fit) {
  return fit == image_fit::stretch ? resize(picture, height, width)
                                   : resize_and_crop(picture, height, width);
}

}  // namespace detail

}  // namespace glia
