#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_dataset_options.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/photo_samples.hpp"
#include "glia/image/read_image.hpp"

namespace glia {

/// A data set of image files with class labels. Each sample has the shape (H, W, 3).
///
/// The files are JPEG or PNG. A file is read when its sample is needed, on one of several threads.
/// It is decoded, resized, augmented, and normalized to (pixel / 255 - mean) / std.
///
///     const auto [training, validation] = glia::image_folder("flowers").split(0.2);
///     const glia::image_dataset train(training, {.mean = glia::imagenet_mean,
///                                                .std = glia::imagenet_std});
///
/// The random augmentation of a sample depends only on the seed, the epoch and the index of the
/// sample. Copies of a data set share their threads and use them in turn.
///
/// Throws `value_error` if an option is outside its range. Reading a sample throws `data_error`,
/// with the name of the file, if the file cannot be read.
class image_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit image_dataset(std::vector<image_file> files, const image_dataset_options& options = {})
      : files_(std::move(files)), samples_("image_dataset", options) {}

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const { return samples_.sample_shape(); }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return files_[i].label; }
  /// The files of the samples.
  [[nodiscard]] const std::vector<image_file>& files() const { return files_; }

  /// Whether samples differ between epochs, that is whether they are augmented.
  [[nodiscard]] bool varies() const { return samples_.varies(); }

  /// Returns sample `i` as an image, resized and augmented but not normalized.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    return detail::naming_file(files_[i].path, [&] {
      return samples_.picture(detail::load_image_file(files_[i].path).bytes, i, epoch);
    });
  }

  /// Writes sample `i` of an epoch.
  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    samples_.normalize(picture(i, epoch), values);
  }

  /// Writes the samples with the given indices one after the other, on several threads. If several
  /// samples cannot be read, the error of the first one is thrown.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    samples_.write_batch(samples, values,
                         [&](std::size_t i, std::span<float> sample) { input(i, sample, epoch); });
  }

 private:
  std::vector<image_file> files_;
  detail::photo_samples samples_;
};

static_assert(labeled_dataset<image_dataset>);
static_assert(varying_dataset<image_dataset>);

}  // namespace glia
