#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/dataset.hpp"

namespace glia {

/// A view of a data set that gives each sample a weight.
///
/// Training and evaluation multiply the loss of a sample by its weight. The mean over a batch still
/// divides by the number of samples, as in Keras. Metrics ignore the weights unless they are
/// wrapped in `weighted`. `weights` has the shape (N) or (N, 1), for N samples. The view has the
/// labels, targets, named tensors and augmentation of the data set, which must outlive it. If the
/// data set has weights, the new weights replace them.
///
///     const glia::weighted_samples data(measurements, xt::xarray<float>{1, 1, 0.2F});
///
/// Throws `shape_error` if the number of weights is not the number of samples, and `data_error` if
/// a weight is negative or not finite.
template <dataset D>
class weighted_samples {
 public:
  static constexpr bool behind_frozen_layers = requires { requires D::behind_frozen_layers; };
  static constexpr bool writes_whole_rows = detail::writes_whole_rows<D>;

  weighted_samples(const D& data, const xt::xarray<float>& weights)
      : data_(&data), weights_(weights.begin(), weights.end()) {
    const shape s(weights.shape().begin(), weights.shape().end());
    require<shape_error>((s.rank() == 1 || (s.rank() == 2 && s[1] == 1)) && s[0] == data.size(),
                         "weighted_samples: expected a weight for each sample, shape ",
                         shape{data.size()}, ", got weights of shape ", s);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      detail::require_weight("weighted_samples", i, weights_[i]);
    }
  }
  weighted_samples(const D&& data, const xt::xarray<float>& weights) = delete;

  [[nodiscard]] float weight(std::size_t i) const { return weights_[i]; }

  [[nodiscard]] std::size_t size() const { return data_->size(); }
  [[nodiscard]] shape input_shape() const { return data_->input_shape(); }
  void input(std::size_t i, std::span<float> values) const { data_->input(i, values); }

  [[nodiscard]] std::int32_t label(std::size_t i) const requires labeled_dataset<D> {
    return data_->label(i);
  }
  [[nodiscard]] shape target_shape() const requires target_dataset<D> {
    return data_->target_shape();
  }
  void target(std::size_t i, std::span<float> values) const requires target_dataset<D> {
    data_->target(i, values);
  }

  [[nodiscard]] const std::vector<row_part>& input_parts() const requires named_dataset<D> {
    return data_->input_parts();
  }
  [[nodiscard]] const std::vector<row_part>& target_parts() const requires named_dataset<D> {
    return data_->target_parts();
  }

  void inputs(std::span<const std::uint32_t> samples,
              std::span<float> values) const requires batched_dataset<D> {
    data_->inputs(samples, values);
  }
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch) const requires varying_dataset<D> {
    data_->inputs(samples, values, epoch);
  }
  void targets(std::span<const std::uint32_t> samples, std::span<float> values,
               std::size_t epoch) const requires varying_target_dataset<D> {
    data_->targets(samples, values, epoch);
  }
  [[nodiscard]] bool varies() const requires varying_dataset<D> { return data_->varies(); }
  [[nodiscard]] bool samples_overlap() const requires detail::overlapping_dataset<D> {
    return data_->samples_overlap();
  }

 private:
  const D* data_;
  std::vector<float> weights_;
};

}  // namespace glia
