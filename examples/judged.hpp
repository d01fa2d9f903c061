#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <glia/core/xtensor.hpp>
#include <glia/image.hpp>
#include <glia/plot.hpp>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

/// Each row of logits (N, K) as probabilities.
inline xt::xarray<float> probabilities_of(xt::xarray<float> logits) {
  const std::size_t classes = logits.shape()[1];
  for (std::size_t n = 0; n < logits.shape()[0]; ++n) {
    float* const row = logits.data() + n * classes;
    const float highest = *std::max_element(row, row + classes);
    std::transform(row, row + classes, row, [&](float v) { return std::exp(v - highest); });
    const float sum = std::accumulate(row, row + classes, 0.0F);
    std::transform(row, row + classes, row, [&](float v) { return v / sum; });
  }
  return logits;
}

/// The classes of row n, the likeliest first.
inline std::vector<std::size_t> ranking(const xt::xarray<float>& probabilities, std::size_t n) {
  std::vector<std::size_t> order(probabilities.shape()[1]);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return probabilities(n, a) > probabilities(n, b);
  });
  return order;
}

/// The classes of files.
inline std::vector<std::int32_t> labels_of(const std::vector<glia::image_file>& files) {
  std::vector<std::int32_t> labels;
  labels.reserve(files.size());
  for (const glia::image_file& file : files) {
    labels.push_back(file.label);
  }
  return labels;
}

/// Writes a picture, or says why it cannot: a training is not lost for want of gnuplot.
template <class Write>
void draw(const Write& write) {
  try {
    write();
  } catch (const glia::data_error& e) {
    std::cerr << e.what() << '\n';
  }
}

/// A sample that was judged, and what is shown of it.
struct judged {
  glia::image picture;
  std::size_t taken_for, truth;
  double share;  ///< of the class that it was taken for
};

/// So many numbers below `size`, spread evenly.
inline std::vector<std::size_t> spread(std::size_t count, std::size_t size) {
  std::vector<std::size_t> numbers(std::min(count, size));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = (2 * i + 1) * size / (2 * numbers.size());
  }
  return numbers;
}

/// Pictures of one size in a grid, under each what it was taken for; those that are wrong in red
/// and with what they are.
inline void write_judged(const std::filesystem::path& path, const std::vector<judged>& samples,
                         std::size_t columns, const std::vector<std::string>& names) {
  const glia::image_grid_options layout{.columns = columns, .border = 4, .gap = 44};
  constexpr glia::rgb right{60, 150, 80};
  constexpr glia::rgb wrong{205, 40, 45};
  constexpr glia::rgb dark_right{47, 122, 69};
  constexpr glia::rgb dark_wrong{192, 40, 45};
  const auto step = [&](std::size_t extent) { return extent + 2 * layout.border + layout.gap; };
  std::vector<glia::framed_image> cells;
  std::vector<glia::plot::caption> labels;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const judged& sample = samples[i];
    const bool good = sample.taken_for == sample.truth;
    cells.push_back({sample.picture, good ? right : wrong});
    const std::size_t middle = layout.border + sample.picture.width / 2;
    const std::size_t rows = i / columns + 1;
    const auto x =
        static_cast<double>(layout.gap + i % columns * step(sample.picture.width) + middle);
    const auto y = static_cast<double>(rows * step(sample.picture.height) + 13);
    const glia::rgb color = good ? dark_right : dark_wrong;
    labels.push_back(
        {glia::text(names[sample.taken_for], ' ', std::lround(100 * sample.share), " %"), x, y,
         color});
    if (!good) {
      labels.push_back({"(is: " + names[sample.truth] + ")", x, y + 16, color});
    }
  }
  const glia::image grid = glia::image_grid(cells, layout);
  glia::write_png(path, grid);
  draw([&] { glia::plot::captions(path, grid, labels); });
}
