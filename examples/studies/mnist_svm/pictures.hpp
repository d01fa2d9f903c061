#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <glia/image.hpp>
#include <glia/plot.hpp>
#include <span>
#include <string>
#include <vector>

#include "digits.hpp"

/// A row of a square image as a picture, each pixel as a square of `scale`, from black for 0 to
/// white for `brightest`.
inline glia::image picture_of(std::span<const std::uint8_t> pixels, std::uint8_t brightest) {
  constexpr std::size_t scale = 10;
  const auto side = static_cast<std::size_t>(std::lround(std::sqrt(pixels.size())));
  glia::image picture = glia::filled_image(side * scale, side * scale, {0, 0, 0});
  for (std::size_t i = 0; i < picture.height * picture.width; ++i) {
    const std::size_t row = i / picture.width / scale;
    const std::size_t column = i % picture.width / scale;
    std::fill_n(picture.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                static_cast<std::uint8_t>(pixels[row * side + column] * 255 / brightest));
  }
  return picture;
}

/// The first digit gray and in black and white (digit.png), and histograms of its pixels
/// (pixels.svg and pixels.png).
inline void write_pictures(const std::filesystem::path& folder, const digits& gray,
                           const digits& binary) {
  const std::vector<glia::framed_image> images{{picture_of(gray.row(0), 255)},
                                               {picture_of(binary.row(0), 1)}};
  glia::write_png(folder / "digit.png", glia::image_grid(images, {.columns = 2}));
  const auto histogram = [](const std::string& title, std::span<const std::uint8_t> pixels,
                            double brightest, std::size_t bins) {
    return glia::plot::histogram_chart({{.values = {pixels.begin(), pixels.end()}}},
                                       {.title = title,
                                        .x_label = "pixel",
                                        .y_label = "pixels",
                                        .bins = bins,
                                        .low = 0,
                                        .high = brightest,
                                        .log_y = true,
                                        .canvas = {.width = 520, .height = 380}});
  };
  const std::vector<glia::plot::chart> panels{
      histogram("gray", gray.row(0), 255, 32),
      histogram("every pixel that is not 0 set to 1", binary.row(0), 1, 32)};
  for (const char* name : {"pixels.svg", "pixels.png"}) {
    glia::plot::panels(folder / name, panels,
                       {.title = glia::text("Pixels of the first image, a ", +gray.labels[0])});
  }
}
