#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia::detail {

/// Means and standard deviations of channels, over any number of rows. NaN is ignored.
///
/// The sums are computed in double by Welford's algorithm (Technometrics 4, 1962), so that they do
/// not lose digits if a mean is much larger than its standard deviation.
class channel_statistics {
 public:
  /// Adds rows (..., C). Throws `data_error` for infinite values.
  template <class T>
  void add(std::span<const T> values, std::size_t channels) {
    channels_.resize(channels);
    std::size_t column = 0;
    for (const T value : values) {
      require<data_error>(
          !std::isinf(value),
          "adapt: expected finite values or NaN for missing values, got infinity in "
          "column ",
          column);
      if (!std::isnan(value)) {
        channel& c = channels_[column];
        ++c.count;
        const double difference = static_cast<double>(value) - c.mean;
        c.mean += difference / static_cast<double>(c.count);
        c.squares += difference * (static_cast<double>(value) - c.mean);
      }
      column = column + 1 == channels ? 0 : column + 1;
    }
  }

  /// Returns the mean of each channel, or 0 if all its values are NaN.
  [[nodiscard]] std::vector<double> means() const {
    std::vector<double> result;
    for (const channel& c : channels_) {
      result.push_back(c.mean);
    }
    return result;
  }
  /// Returns the standard deviation of each channel, or 1 if it is 0 as a float. It is biased: the
  /// squared deviations are divided by the number of values.
  [[nodiscard]] std::vector<double> deviations() const {
    std::vector<double> result;
    for (const channel& c : channels_) {
      const double deviation =
          c.count == 0 ? 0 : std::sqrt(c.squares / static_cast<double>(c.count));
      result.push_back(static_cast<float>(deviation) > 0 ? deviation : 1);
    }
    return result;
  }

 private:
  struct channel {
    std::size_t count = 0;
    double mean = 0;
    double squares = 0;  // sum of the squared deviations from the mean
  };
  std::vector<channel> channels_;
};

/// What `adapt` collects for one layer: the statistics, and the parameters for the means and the
/// deviations.
struct fitted_layer {
  tensor* mean = nullptr;
  tensor* scale = nullptr;
  channel_statistics statistics = {};
};

/// The layers that `adapt` fits, and the targets of the batch on which the model runs.
struct adaptation {
  std::vector<fitted_layer> layers{};
  shape target_shape{};              ///< Shape of the targets, (N, ...); no axes for class labels.
  std::span<const float> targets{};  ///< Values of the targets.

  /// Returns the layer with these parameters. A shared layer has the same parameters wherever it
  /// runs, so it is one of the layers.
  [[nodiscard]] fitted_layer& layer_of(tensor& mean, tensor& scale) {
    for (fitted_layer& known : layers) {
      if (known.mean == &mean) {
        return known;
      }
    }
    layers.push_back({&mean, &scale});
    return layers.back();
  }
};

}  // namespace glia::detail
