#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <glia/core/whole_file.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/image.hpp>
#include <iostream>
#include <numeric>
#include <sstream>
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

/// As gnuplot reads it.
inline std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "''" : std::string(1, c);
  }
  return result + "'";
}

/// Has gnuplot draw `script` into a file, as SVG or PNG by its name; the file is there whole or not
/// at all.
inline void plot(const std::filesystem::path& path, std::size_t width, std::size_t height,
                 const std::string& script) {
  const std::filesystem::path part = path.string() + ".part";
  const std::string terminal = path.extension() == ".svg" ? "svg" : "pngcairo";
  const std::string all = glia::text("set terminal ", terminal, " size ", width, ',', height,
                                     " font 'DejaVu Sans,13' background '#ffffff'\nset output ",
                                     quoted(part.string()), '\n', script, "\nset output\n");
  std::signal(SIGPIPE, SIG_IGN);  // where there is no gnuplot, nobody reads the script
  std::FILE* const gnuplot = popen("gnuplot", "w");
  const bool sent = gnuplot != nullptr && std::fwrite(all.data(), 1, all.size(), gnuplot) != 0;
  const bool drawn = gnuplot != nullptr && pclose(gnuplot) == 0 && sent;
  std::error_code failure;
  drawn ? std::filesystem::rename(part, path, failure)
        : (void)std::filesystem::remove(part, failure);
  if (!drawn || failure) {
    std::cerr << "flowers: could not draw " << path.string()
              << "; is gnuplot there (Debian: gnuplot-nox)?\n";
  }
}

/// What a chart compares: seconds for twelve epochs, for the first and for the second.
struct timings {
  std::string device;
  std::array<double, 3> seconds;
};

/// As reported in 2021 for the same task in Keras.
inline const std::vector<timings> reported{
    {"local GPU\\n(RTX 3060 Laptop)", {133, 40, 11}},
    {"Colab GPU", {885, 599, 26}},
    {"Cloud TPU v2-8\\n(Xception, fine-tuned)", {167, 68, 9}}};

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
  const timings own{"glia\\n(this CPU)", {ends.back(), ends[0], ends[1] - ends[0]}};
  const std::array titles{glia::text(ends.size(), " epochs"), std::string("First epoch"),
                          std::string("Second epoch")};
  for (std::size_t chart = 0; chart < chart_names.size(); ++chart) {
    std::vector<timings> bars{own};
    bars.insert(bars.end(), reported.begin(), reported.end());
    std::ostringstream script;
    double highest = 0;
    script << "$bars << END\n";
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const double seconds = bars[i].seconds[chart];
      highest = std::max(highest, seconds);
      script << i << " \"" << bars[i].device << "\" " << seconds << ' '
             << (i == 0 ? "0xd9642b" : "0x7a8ca8") << " \""
             << (seconds < 10 ? std::round(100 * seconds) / 100 : std::round(10 * seconds) / 10)
             << " s\"\n";
    }
    script << "END\nset title 'Flowers: " << titles[chart]
           << ", validation included' font ',16'\nset ylabel 'seconds'\n"
           << "set style fill solid noborder\nset boxwidth 0.6\nset yrange [0:" << 1.12 * highest
           << "]\nset xrange [-0.6:" << static_cast<double>(bars.size()) - 0.4
           << "]\nunset key\nset border 3\nset tics nomirror out\nset grid ytics lc '#dddddd'\n"
           << "set bmargin 5\nset label 'others: as reported in 2021' at graph 1,1.04 right font "
              "',10' tc '#666666'\n"
           << "plot $bars using 1:3:4:xtic(2) with boxes lc rgb variable, "
              "'' using 1:3:5 with labels offset 0,0.8";
    for (const char* ending : chart_endings) {
      plot(chart_file(folder, chart, ending), 960, 540, script.str());
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
  const std::size_t count = std::min<std::size_t>(24, photos.size());
  const std::size_t step = extent + 2 * layout.border + layout.gap;
  const std::size_t width = std::min(layout.columns, count) * step + layout.gap;
  const std::size_t height = (count + layout.columns - 1) / layout.columns * step + layout.gap;
  std::vector<glia::framed_image> cells;
  std::ostringstream labels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t n = (2 * i + 1) * photos.size() / (2 * count);
    const std::size_t taken_for = ranking(probabilities, n).front();
    const auto truth = static_cast<std::size_t>(photos.label(n));
    const bool good = taken_for == truth;
    cells.push_back({glia::resize(photos.picture(n), extent, extent), good ? right : wrong});
    const std::size_t x = layout.gap + i % layout.columns * step + extent / 2 + layout.border;
    const std::size_t y = (i / layout.columns + 1) * step + 13;
    const auto write = [&](const std::string& line, std::size_t below) {
      labels << "set label " << quoted(line) << " at " << x << ',' << height - y - below
             << " center front noenhanced font ',11' tc '" << (good ? "#2f7a45" : "#c0282d")
             << "'\n";
    };
    write(glia::text(names[taken_for], ' ', std::lround(100 * probabilities(n, taken_for)), " %"),
          0);
    if (!good) {
      write("(is: " + names[truth] + ")", 15);
    }
  }
  glia::write_png(path, glia::image_grid(cells, layout));
  plot(path, width, height,
       glia::text("set margins 0,0,0,0\nunset key\nunset border\nunset tics\nset xrange [0:", width,
                  "]\nset yrange [0:", height, "]\n", labels.str(), "plot ", quoted(path.string()),
                  " binary filetype=png with rgbimage"));
}
