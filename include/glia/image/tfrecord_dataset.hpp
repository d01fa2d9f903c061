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
#include "glia/image/photo_samples.hpp"
#include "glia/io/example.hpp"
#include "glia/io/tfrecord_index.hpp"

namespace glia {

/// How photos in TFRecord files become samples.
struct tfrecord_dataset_options {
  image_dataset_options photos{};       ///< how they are decoded, resized, augmented, normalised
  std::string image_feature = "image";  ///< the bytes of a JPEG or PNG file
  std::string class_feature = "class";  ///< one integer, counted from 0
  bool interleaved = false;             ///< samples are numbered across the files, not file by file
};

/// Photos with their classes as samples (H, W, 3), read from the Examples of TFRecord files when
/// they are asked for; else as `image_dataset`.
///
///     const glia::tfrecord_dataset train(
///         glia::sharded_files("flowers/train"),
///         {.photos = {.mean = glia::imagenet_mean, .std = glia::imagenet_std}});
///
/// Samples are numbered file by file, or, where `interleaved`, as `tfrecord_index` says; a trainer
/// shuffles them all. At first only the records' places are found; a class is known once its record
/// was read, be it by `label`.
///
/// Throws `value_error` for options outside their ranges and for no files; `data_error`, naming
/// file, record and byte, as `tfrecord_index` does; when a sample is asked for, also for one that
/// is damaged, is no Example, lacks a feature, or whose image cannot be decoded.
class tfrecord_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit tfrecord_dataset(std::vector<std::filesystem::path> files,
                            const tfrecord_dataset_options& options = {})
      : options_(options),
        samples_("tfrecord_dataset", options.photos),
        records_(std::move(files), {.interleaved = options.interleaved}),
        labels_(std::make_shared<std::vector<std::atomic<std::uint32_t>>>(records_.size())) {
    detail::require_numbered("tfrecord_dataset", records_.size());
  }

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] shape input_shape() const { return samples_.sample_shape(); }
  [[nodiscard]] const tfrecord_index& records() const { return records_; }

  [[nodiscard]] std::int32_t label(std::size_t i) const {
    if ((*labels_)[i] == unknown) {
      static_cast<void>(read(i));
    }
    return static_cast<std::int32_t>((*labels_)[i] - 1);
  }

  /// Whether samples differ from epoch to epoch, because they are augmented.
  [[nodiscard]] bool varies() const { return samples_.varies(); }

  /// The example of sample i, with whatever other features it has.
  [[nodiscard]] example read(std::size_t i) const {
    const std::string record = records_.read(i);
    return detail::naming(records_.name(i), [&] {
      example e = decode_example(record);
      const auto label = detail::value_in<std::int64_t>(e, options_.class_feature);
      require<data_error>(label >= 0 && label <= std::numeric_limits<std::int32_t>::max(),
                          "expected a class counted from 0 as the feature '",
                          options_.class_feature, "', found ", label);
      (*labels_)[i] = static_cast<std::uint32_t>(label) + 1;
      return e;
    });
  }

  /// Sample i as a picture, before it is normalised.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    const example e = read(i);
    return detail::naming(records_.name(i), [&] {
      const auto& file = detail::value_in<std::string>(e, options_.image_feature);
      return samples_.picture({reinterpret_cast<const std::uint8_t*>(file.data()), file.size()}, i,
                              epoch);
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
  /// In place of a label that was not yet read; else one more than the label is kept.
  static constexpr std::uint32_t unknown = 0;

  tfrecord_dataset_options options_;
  detail::photo_samples samples_;
  tfrecord_index records_;
  std::shared_ptr<std::vector<std::atomic<std::uint32_t>>> labels_;
};

static_assert(labelled_dataset<tfrecord_dataset>);
static_assert(varying_dataset<tfrecord_dataset>);

}  // namespace glia
