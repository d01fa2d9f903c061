#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_dataset_options.hpp"
#include "glia/image/photo_samples.hpp"
#include "glia/io/example.hpp"
#include "glia/io/tfrecord_index.hpp"

namespace glia {

/// Options of `tfrecord_dataset`.
struct tfrecord_dataset_options {
  image_dataset_options images{};       ///< Size, augmentation and normalization of the images.
  std::string image_feature = "image";  ///< Feature with the bytes of a JPEG or PNG file.
  std::string class_feature = "class";  ///< Feature with the class index, counted from 0.
  /// Whether the records of the files alternate. If false, the files follow one after the other.
  bool interleaved = false;
};

/// A data set of images with class labels that are stored as `tf.train.Example` records in TFRecord
/// files. Each sample has the shape (H, W, 3).
///
/// The images are JPEG or PNG. An image is read when its sample is needed, on one of several
/// threads. It is resized, augmented and normalized as in `image_dataset`.
///
///     const glia::tfrecord_dataset train(
///         glia::sharded_files("flowers/train"),
///         {.images = {.mean = glia::imagenet_mean, .std = glia::imagenet_std}});
///
/// The constructor only finds the positions of the records. A label is read together with its
/// record, when it is needed for the first time. A trainer shuffles the samples of all files
/// together.
///
/// Throws `value_error` if an option is outside its range or the list of files is empty. Throws
/// `data_error`, with file, record and byte, as `tfrecord_index` does. Reading a sample throws
/// `data_error` if its record is damaged or not an Example, if a feature is missing, or if the
/// image cannot be decoded.
class tfrecord_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit tfrecord_dataset(std::vector<std::filesystem::path> files,
                            const tfrecord_dataset_options& options = {})
      : options_(options),
        samples_("tfrecord_dataset", options.images),
        records_(std::move(files), {.interleaved = options.interleaved}),
        labels_(std::make_shared<std::vector<std::atomic<std::uint32_t>>>(records_.size())) {
    detail::require_numbered("tfrecord_dataset", records_.size());
  }

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] shape input_shape() const { return samples_.sample_shape(); }
  /// The index of the records.
  [[nodiscard]] const tfrecord_index& records() const { return records_; }

  /// Returns the class index of sample `i`. Reads the record if the label is not known yet.
  [[nodiscard]] std::int32_t label(std::size_t i) const {
    if ((*labels_)[i] == unknown) {
      static_cast<void>(read(i));
    }
    return static_cast<std::int32_t>((*labels_)[i] - 1);
  }

  /// Whether samples differ between epochs, that is whether they are augmented.
  [[nodiscard]] bool varies() const { return samples_.varies(); }

  /// Returns the example of sample `i` with all its features.
  [[nodiscard]] tf_example read(std::size_t i) const {
    const std::string record = records_.read(i);
    return detail::naming(records_.name(i), [&] {
      tf_example e = decode_example(record);
      const auto label = detail::value_in<std::int64_t>(e, options_.class_feature);
      require<data_error>(label >= 0 && label <= std::numeric_limits<std::int32_t>::max(),
                          "expected a class index from 0 to 2147483647 in the feature '",
                          options_.class_feature, "', found ", label);
      (*labels_)[i] = static_cast<std::uint32_t>(label) + 1;
      return e;
    });
  }

  /// Returns sample `i` as an image, resized and augmented but not normalized.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    const tf_example e = read(i);
    return detail::naming(records_.name(i), [&] {
      const auto& file = detail::value_in<std::string>(e, options_.image_feature);
      return samples_.picture({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, i,
                              epoch);
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
  /// Marks a label that was not read yet. A known label is stored as label + 1.
  static constexpr std::uint32_t unknown = 0;

  tfrecord_dataset_options options_;
  detail::photo_samples samples_;
  tfrecord_index records_;
  std::shared_ptr<std::vector<std::atomic<std::uint32_t>>> labels_;
};

static_assert(labeled_dataset<tfrecord_dataset>);
static_assert(varying_dataset<tfrecord_dataset>);

}  // namespace glia
