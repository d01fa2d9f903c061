#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <glia/core/whole_file.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/image.hpp>
#include <glia/plot.hpp>
#include <string>
#include <vector>

#include "../judged.hpp"

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
  std::ifstream file(path);
  glia::require<glia::data_error>(
      file.is_open(), path.string(),
      ": cannot be read; train first, or name the folder of the results by --output");
  std::vector<std::string> names;
  for (std::string name; std::getline(file, name);) {
    names.push_back(name);
  }
  return names;
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
  const timings measured{"glia\n(this CPU)", {ends.back(), ends[0], ends[1] - ends[0]}};
  const std::array titles{glia::text(ends.size(), " epochs"), std::string("First epoch"),
                          std::string("Second epoch")};
  for (std::size_t chart = 0; chart < chart_names.size(); ++chart) {
    std::vector<std::string> devices{measured.device};
    glia::plot::bar_series bars{.values = {measured.seconds[chart]}};
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

/// Two dozen photos from all over the data set in a grid, with what they were taken for.
inline void write_grid(const std::filesystem::path& path, const glia::image_dataset& photos,
                       const xt::xarray<float>& probabilities,
                       const std::vector<std::string>& names) {
  constexpr std::size_t extent = 168;
  std::vector<judged> samples;
  for (const std::size_t n : spread(24, photos.size())) {
    const std::size_t taken_for = ranking(probabilities, n).front();
    samples.push_back({glia::resize(photos.picture(n), extent, extent), taken_for,
                       static_cast<std::size_t>(photos.label(n)), probabilities(n, taken_for)});
  }
  write_judged(path, samples, 6, names);
}
