#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <glia/plot.hpp>
#include <string>
#include <utility>
#include <vector>

#include "fits.hpp"

/// A panel: what was measured, and the law through it with where it lies at 95 % confidence.
struct scaling_panel {
  std::string title;
  std::string x_label;
  bool log_x = false;
  double unit = 1;  ///< of y

  /// `x_of` and `y_of` read a measurement, `law(x)` gives the estimate there.
  template <class X, class Y, class Law>
  [[nodiscard]] glia::plot::chart drawn(const std::vector<measurement>& fitted,
                                        const std::vector<measurement>& checked, const X& x_of,
                                        const Y& y_of, const Law& law) const {
    namespace plot = glia::plot;
    const auto points = [&](const std::string& name, const std::vector<measurement>& data,
                            std::size_t color) {
      plot::series s{.name = name, .style = plot::marks::points, .color = color};
      for (const measurement& m : data) {
        s.x.push_back(x_of(m));
        s.y.push_back(y_of(m) / unit);
      }
      return s;
    };
    std::vector<plot::series> curves{points("measured", fitted, 0)};
    if (!checked.empty()) {
      curves.push_back(points("checked", checked, 1));
    }
    double low = curves[0].x[0];
    double high = low;
    for (const plot::series& s : curves) {
      for (const double x : s.x) {
        low = std::min(low, x);
        high = std::max(high, x);
      }
    }
    plot::series line{.name = "fit, 95 %",
                      .style = plot::marks::line,
                      .interval_style = plot::spread::band,
                      .color = 3};
    constexpr int steps = 100;
    for (int i = 0; i <= steps; ++i) {
      const double share = static_cast<double>(i) / steps;
      const double x = log_x ? low * std::pow(high / low, share) : low + (high - low) * share;
      const estimate y = law(x);
      line.x.push_back(x);
      line.y.push_back(y.value / unit);
      line.low.push_back(y.low / unit);
      line.high.push_back(y.high / unit);
    }
    curves.insert(curves.begin(), std::move(line));
    return plot::curves_chart(curves, {.title = title,
                                       .x_label = x_label,
                                       .log_x = log_x,
                                       .canvas = {.width = 600, .height = 440}});
  }
};

/// Time and memory against the batch and against the images, as scaling.svg and scaling.png.
inline void draw(const std::filesystem::path& folder, const std::string& title,
                 const measurements& measured, const std::vector<measurement>& checked,
                 const fits& laws) {
  const double batch = measured.sizes.front().batch;
  const double images = measured.batches.front().images;
  const auto batch_of = [](const measurement& m) { return m.batch; };
  const auto images_of = [](const measurement& m) { return m.images; };
  const auto bytes_of = [](const measurement& m) { return m.bytes; };
  const std::vector<glia::plot::chart> panels{
      scaling_panel{"microseconds of training for an image", "batch", true, 1e-6}.drawn(
          measured.batches, {}, batch_of, [](const measurement& m) { return m.seconds / m.images; },
          [&](double x) { return laws.image.line.mean(per_batch(x, images)); }),
      scaling_panel{"seconds of an epoch", "images"}.drawn(
          measured.sizes, checked, images_of, [](const measurement& m) { return m.seconds; },
          [&](double x) { return laws.epoch.line.mean(per_image(batch, x)); }),
      scaling_panel{"peak memory, MB", "batch", false, 1e6}.drawn(
          measured.batches, {}, batch_of, bytes_of,
          [&](double x) { return laws.memory.line.mean(per_both(x, images)); }),
      scaling_panel{"peak memory, MB", "images", false, 1e6}.drawn(
          measured.sizes, checked, images_of, bytes_of,
          [&](double x) { return laws.memory.line.mean(per_both(batch, x)); })};
  for (const char* name : {"scaling.svg", "scaling.png"}) {
    glia::plot::panels(folder / name, panels, {.title = title});
  }
}
