#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "line_fit.hpp"
#include "measurements.hpp"

/// A law through measurements, and how far it misses them.
struct fitted_law {
  line_fit line;
  double worst = 0;  ///< the largest share by which a point's mean is off the law
};

/// Puts a law through `value` of the measurements; `terms` gives its terms for one of them.
template <class Terms, class Value>
fitted_law fit(const std::vector<measurement>& points, const Terms& terms, const Value& value) {
  std::vector<std::vector<double>> x;
  std::vector<double> y;
  for (const measurement& m : points) {
    x.push_back(terms(m.batch, m.images));
    y.push_back(value(m));
  }
  fitted_law law{.line = {x, y}};
  for (const std::vector<double>& row : x) {
    double sum = 0;
    double count = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += x[i] == row ? y[i] : 0;
      count += x[i] == row ? 1 : 0;
    }
    const double mean = sum / count;
    law.worst = std::max(law.worst, std::abs(mean - law.line.mean(row).value) / mean);
  }
  return law;
}

/// Each law's terms, by the batch and the images.
inline std::vector<double> per_batch(double batch, double) { return {1, 1 / batch}; }
inline std::vector<double> per_image(double, double images) { return {1, images}; }
inline std::vector<double> per_both(double batch, double images) { return {1, batch, images}; }

/// What is known of a network on this machine.
struct fits {
  fitted_law image;       ///< seconds of training for an image = a + b / batch
  fitted_law epoch;       ///< seconds = a + b N
  fitted_law prediction;  ///< seconds = a + b N
  fitted_law memory;      ///< bytes = c + d batch + e N

  explicit fits(const measurements& measured)
      : image(fit(measured.batches, per_batch,
                  [](const measurement& m) { return m.seconds / m.images; })),
        epoch(fit(measured.sizes, per_image, [](const measurement& m) { return m.seconds; })),
        prediction(fit(merge(measured), per_image,
                       [](const measurement& m) { return m.prediction_seconds; })),
        memory(fit(merge(measured), per_both, [](const measurement& m) { return m.bytes; })) {}

 private:
  static std::vector<measurement> merge(const measurements& measured) {
    std::vector<measurement> result = measured.batches;
    result.insert(result.end(), measured.sizes.begin(), measured.sizes.end());
    return result;
  }
};
