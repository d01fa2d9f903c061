#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/photo_samples.hpp"
#include "glia/image/read_image.hpp"

namespace glia {

/// Photos with their classes as samples (H, W, 3): read from their files when they are asked for,
/// resized, augmented and normalised to (v / 255 - mean) / std.
///
///     const auto [training, validation] = glia::image_folder("flowers").split(0.2);
///     const glia::image_dataset train(training, {.mean = glia::imagenet_mean,
///                                                .std = glia::imagenet_std});
///
/// How a sample is augmented depends on the seed, the epoch and the sample's number alone. Batches
/// are decoded on several threads; copies share these and take turns.
///
/// Throws `value_error` for options outside their ranges; what cannot be read throws `data_error`,
/// naming the file, when it is asked for.
class image_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit image_dataset(std::vector<image_file> files, const image_dataset_options& options = {})
      : files_(std::move(files)), samples_("image_dataset", options) {}

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const { return samples_.sample_shape(); }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return files_[i].label; }
  [[nodiscard]] const std::vector<image_file>& files() const { return files_; }

  /// Whether samples differ from epoch to epoch, because they are augmented.
  [[nodiscard]] bool varies() const { return samples_.varies(); }

  /// Sample i as a picture, before it is normalised.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    return detail::naming_file(files_[i].path, [&] {
      return samples_.picture(detail::load_image_file(files_[i].path).bytes, i, epoch);
    });
  }

  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    samples_.normalise(picture(i, epoch), values);
  }

  /// A batch: the samples with these numbers side by side, each as `input` gives it. When several
  /// cannot be read, the first of them is the one that is thrown for.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    samples_.write_batch(samples, values,
                         [&](std::size_t i, std::span<float> sample) { input(i, sample, epoch); });
  }

 private:
  std::vector<image_file> files_;
  detail::photo_samples samples_;
};

static_assert(labelled_dataset<image_dataset>);
static_assert(varying_dataset<image_dataset>);

}  // namespace glia
