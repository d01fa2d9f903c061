#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <glia/core/whole_file.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/image.hpp>
#include <glia/plot.hpp>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

/// One line for each name.
inline void write_labels(const std::filesystem::path& path, const std::vector<std::string>& names) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    for (const std::string& name : names) {
      out << name << '\n';
    }
  });
}

/// What `write_labels` wrote.
inline std::vector<std::string> read_labels(const std::filesystem::path& path) {
  std::ifstream in(path);
  glia::require<glia::data_error>(
      in.is_open(), path.string(),
      ": cannot be read; train first, or name the folder of the results by --output");
  std::vector<std::string> names;
  for (std::string name; std::getline(in, name);) {
    names.push_back(name);
  }
  return names;
}

/// Writes a picture, or says why it cannot: a training is not lost for want of gnuplot.
template <class Write>
void draw(const Write& write) {
  try {
    write();
  } catch (const glia::data_error& e) {
    std::cerr << "flowers: " << e.what() << '\n';
  }
}

/// What a chart compares: seconds for twelve epochs, for the first and for the second.
struct timings {
  std::string device;
  std::array<double, 3> seconds;
};

/// As reported in 2021 for the same task in Keras.
inline const std::vector<timings> reported{
    {"local GPU\n(RTX 3060 Laptop)", {133, 40, 11}},
    {"Colab GPU", {885, 599, 26}},
    {"Cloud TPU v2-8\n(Xception, fine-tuned)", {167, 68, 9}}};

inline constexpr std::array chart_names{"all_epochs", "first_epoch", "second_epoch"};
inline constexpr std::array chart_endings{".png", ".svg"};

inline std::filesystem::path chart_file(const std::filesystem::path& folder, std::size_t chart,
                                        const char* ending) {
  return folder / (std::string("seconds_") + chart_names[chart] + ending);
}

/// Those of an earlier run.
inline void remove_charts(const std::filesystem::path& folder) {
  for (std::size_t chart = 0; chart < chart_names.size(); ++chart) {
    for (const char* ending : chart_endings) {
      std::filesystem::remove(chart_file(folder, chart, ending));
    }
  }
}

/// A bar chart for each of the three times, this run beside the reported ones, as SVG and PNG.
/// `ends` are the seconds at which this run's epochs, at least two, were over.
inline void write_charts(const std::filesystem::path& folder, const std::vector<double>& ends) {
  const timings own{"glia\n(this CPU)", {ends.back(), ends[0], ends[1] - ends[0]}};
  const std::array titles{glia::text(ends.size(), " epochs"), std::string("First epoch"),
                          std::string("Second epoch")};
  for (std::size_t chart = 0; chart < chart_names.size(); ++chart) {
    std::vector<std::string> devices{own.device};
    glia::plot::bar_series bars{.values = {own.seconds[chart]}};
    for (const timings& other : reported) {
      devices.push_back(other.device);
      bars.values.push_back(other.seconds[chart]);
    }
    for (const char* ending : chart_endings) {
      draw([&] {
        glia::plot::bars(chart_file(folder, chart, ending), devices, {bars},
                         {.title = "Flowers: " + titles[chart] + ", validation included",
                          .y_label = "seconds",
                          .note = "others: as reported in 2021",
                          .unit = " s",
                          .highlight = 0});
      });
    }
  }
}

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

/// Two dozen photos from all over the data set in a grid, under each its prediction; those that are
/// wrong in red and with what they are.
inline void write_grid(const std::filesystem::path& path, const glia::image_dataset& photos,
                       const xt::xarray<float>& probabilities,
                       const std::vector<std::string>& names) {
  constexpr std::size_t extent = 168;
  const glia::image_grid_options layout{.columns = 6, .border = 4, .gap = 44};
  constexpr glia::rgb right{60, 150, 80};
  constexpr glia::rgb wrong{205, 40, 45};
  constexpr glia::rgb dark_right{47, 122, 69};
  constexpr glia::rgb dark_wrong{192, 40, 45};
  const std::size_t count = std::min<std::size_t>(24, photos.size());
  const std::size_t step = extent + 2 * layout.border + layout.gap;
  std::vector<glia::framed_image> cells;
  std::vector<glia::plot::caption> labels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = (2 * i + 1) * photos.size() / (2 * count);
    const std::size_t taken_for = ranking(probabilities, n).front();
    const auto truth = static_cast<std::size_t>(photos.label(n));
    const bool good = taken_for == truth;
    cells.push_back({glia::resize(photos.picture(n), extent, extent), good ? right : wrong});
    const auto x =
        static_cast<double>(layout.gap + i % layout.columns * step + extent / 2 + layout.border);
    const auto y = static_cast<double>((i / layout.columns + 1) * step + 13);
    const glia::rgb colour = good ? dark_right : dark_wrong;
    labels.push_back(
        {glia::text(names[taken_for], ' ', std::lround(100 * probabilities(n, taken_for)), " %"), x,
         y, colour});
    if (!good) {
      labels.push_back({"(is: " + names[truth] + ")", x, y + 16, colour});
    }
  }
  const glia::image grid = glia::image_grid(cells, layout);
  glia::write_png(path, grid);
  draw([&] { glia::plot::captions(path, grid, labels); });
}
