#pragma once

#include <cstddef>

#include "glia/image/image.hpp"
#include "glia/image/resize.hpp"

namespace glia {

/// How a picture of other proportions is brought to the size asked for.
enum class image_fit {
  stretch,  ///< both axes on their own, as Keras does
  crop,     ///< the shorter side to its extent, the longer one cut on both sides
};

namespace detail {

[[nodiscard]] inline image fitted(const image& picture, std::size_t height, std::size_t width,
                                  image_fit fit) {
  return fit == image_fit::stretch ? resize(picture, height, width)
                                   : resize_and_crop(picture, height, width);
}

}  // namespace detail

}  // namespace glia
