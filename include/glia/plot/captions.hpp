#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/image/image.hpp"
#include "glia/plot/chart.hpp"

namespace glia::plot {

/// A text on a picture.
struct caption {
  std::string text = {};  ///< The text.
  double x = 0;           ///< Horizontal position of the text's center, in pixels from the left.
  double y = 0;           ///< Vertical position of the text's center, in pixels from the top.
  rgb color{0, 0, 0};     ///< Color of the text.
  double font_size = 15;  ///< Font size, in pixels.
};

/// Makes a chart of a picture with texts on it, such as names under the pictures of an
/// `image_grid`. The chart has the size of the picture.
///
/// Throws `shape_error` if the picture has no pixels.
[[nodiscard]] inline chart captions_chart(const image& picture, const std::vector<caption>& texts,
                                          const std::string& gnuplot = "gnuplot") {
  glia::detail::require_picture("plot::captions", picture);
  const auto place = [](double pixel) { return detail::number(pixel - 0.5); };
  const auto height = static_cast<double>(picture.height);
  std::string script =
      text("set margins 0,0,0,0\nunset key\nunset border\nunset tics\nset xrange [-0.5:",
           place(static_cast<double>(picture.width)), "]\nset yrange [-0.5:", place(height), "]\n");
  for (const caption& label : texts) {
    std::array<char, 8> color{};
    std::snprintf(color.data(), color.size(), "#%02x%02x%02x", label.color[0], label.color[1],
                  label.color[2]);
    script += text("set label ", detail::literal(label.text), " at ", place(label.x), ',',
                   place(height - label.y), " center front font ',",
                   detail::number(label.font_size), "' tc '", color.data(), "'\n");
  }
  script += text("plot '-' binary array=(", picture.width, ',', picture.height,
                 ") flipy format='%uchar%uchar%uchar' using 1:2:3 with rgbimage\n");
  script.append(picture.pixels.begin(), picture.pixels.end());
  return {{picture.width, picture.height, gnuplot}, script + '\n'};
}

/// Draws a picture with texts on it to an SVG or PNG file. See `captions_chart` and `write`.
inline void captions(const std::filesystem::path& path, const image& picture,
                     const std::vector<caption>& texts) {
  write(path, captions_chart(picture, texts));
}

}  // namespace glia::plot
