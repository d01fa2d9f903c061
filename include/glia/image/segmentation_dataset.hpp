#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/shape.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_dataset_options.hpp"
#include "glia/image/mask_decoder.hpp"
#include "glia/image/photo_samples.hpp"
#include "glia/image/pixel_mask.hpp"
#include "glia/image/read_image.hpp"
#include "glia/image/sample_decoding.hpp"
#include "glia/image/segmentation_folder.hpp"

namespace glia {

/// Options of `segmentation_dataset`.
struct segmentation_dataset_options {
  image_dataset_options images{};  ///< Size, augmentation and normalization of the images.
  /// Number of classes K, from 1 to 256. With 1 class, the mask of an object: 0 and 1. Required.
  std::size_t classes = 0;
  /// Colors of the classes in the masks, all different, in the order of the classes. If empty, the
  /// class of a pixel is its gray level, or its index in the palette of a PNG file.
  std::vector<rgb> palette{};
  /// A class that is ignored, such as 255 for the borders of objects in Pascal VOC. Its pixels get
  /// the class -1, which losses and metrics ignore.
  std::optional<std::uint8_t> ignore_class{};
};

/// A data set of image files for segmentation, whose targets are masks with a class for each pixel.
///
/// The images are JPEG or PNG, the masks PNG of the same size. Both are read when their sample is
/// needed, on one of several threads, and are resized and augmented together: they are mirrored,
/// rotated, zoomed and shifted in the same way. Images are interpolated and normalized as in
/// `image_dataset`. Masks take the nearest pixel, and changes of color do not affect them.
///
///     const auto [training, validation] = glia::segmentation_folder("images", "masks").split(0.2);
///     const glia::segmentation_dataset train(
///         training, {.images = {.height = 128, .width = 128,
///                               .augmentation = {.horizontal_flip = 0.5, .rotation = 10}},
///                    .classes = 3});
///
/// A sample has the inputs (H, W, 3) and the targets (H, W), which are classes from 0 to K - 1, as
/// `softmax_cross_entropy` and `softmax_dice` expect for outputs (N, H, W, K). With 1 class, the
/// targets are (H, W, 1) with values of 0 and 1, as `sigmoid_dice` and `sigmoid_cross_entropy`
/// expect for outputs (N, H, W, 1).
///
/// The random augmentation of a sample depends only on the seed, the epoch and the index of the
/// sample. Copies of a data set share their threads and use them in turn.
///
/// Throws `value_error` if an option is outside its range. Reading a sample throws `data_error`,
/// with the name of the file, if a file cannot be read, if image and mask have different sizes, or
/// if a mask has a value that is not a class.
class segmentation_dataset {
 public:
  static constexpr bool writes_whole_rows = true;

  explicit segmentation_dataset(std::vector<segmentation_file> files,
                                const segmentation_dataset_options& options)
      : files_(std::move(files)),
        options_(options),
        samples_("segmentation_dataset", options.images),
        masks_("segmentation_dataset", std::max<std::size_t>(options.classes, 2), options.palette,
               options.ignore_class) {
    require<value_error>(options.classes > 0 && options.classes <= 256,
                         "segmentation_dataset: expected 1 to 256 classes, got ", options.classes,
                         "; write .classes = 2 for objects and a background");
  }

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] shape input_shape() const { return samples_.sample_shape(); }
  [[nodiscard]] shape target_shape() const {
    shape result{options_.images.height, options_.images.width};
    if (options_.classes == 1) {
      result.push_back(1);
    }
    return result;
  }
  /// The files of the samples.
  [[nodiscard]] const std::vector<segmentation_file>& files() const { return files_; }

  /// Whether samples differ between epochs, that is whether they are augmented.
  [[nodiscard]] bool varies() const { return samples_.varies(); }

  /// Returns the image of sample `i`, resized and augmented but not normalized.
  [[nodiscard]] image picture(std::size_t i, std::size_t epoch = 0) const {
    const segmentation_file& file = files_[i];
    // JPEG is not decoded at a reduced size, because its rounded size would shift the mask.
    const image photo = read_image(file.image, {.max_pixels = options_.images.max_pixels});
    const image_info mask = read_image_info(file.mask);
    require<data_error>(mask.height == photo.height && mask.width == photo.width,
                        file.mask.string(), ": expected a mask of ", photo.height, " x ",
                        photo.width, " pixels (height x width) as the image ", file.image.string(),
                        ", got ", mask.height, " x ", mask.width,
                        "; resize one of them, the mask to the nearest pixels, or leave both out");
    return samples_.picture(photo, i, epoch);
  }

  /// Writes the inputs of sample `i` of an epoch.
  void input(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    samples_.normalize(picture(i, epoch), values);
  }

  /// Writes the classes of the pixels of sample `i` of an epoch.
  void target(std::size_t i, std::span<float> values, std::size_t epoch = 0) const {
    const image_dataset_options& images = options_.images;
    require<shape_error>(values.size() == target_shape().size(),
                         "segmentation_dataset: expected a span of ", target_shape().size(),
                         " values, got ", values.size());
    detail::pixel_mask mask = detail::naming_file(files_[i].mask, [&] {
      return masks_.decode(detail::load_image_file(files_[i].mask).bytes, images.max_pixels);
    });
    mask = detail::fitted(mask, images.height, images.width, images.fit);
    if (varies()) {
      mask = detail::augment(
          std::move(mask),
          detail::draw_changes(images.augmentation, detail::augmentation_key(images.seed, i, epoch),
                               images.height, images.width));
    }
    std::transform(mask.values.begin(), mask.values.end(), values.begin(), [&](std::uint8_t value) {
      return value == options_.ignore_class ? -1.0F : static_cast<float>(value);
    });
  }

  /// Writes the inputs of the samples with the given indices one after the other, on several
  /// threads. If several samples cannot be read, the error of the first one is thrown.
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    samples_.write_batch(samples, values,
                         [&](std::size_t i, std::span<float> sample) { input(i, sample, epoch); });
  }

  /// Writes the targets of the samples with the given indices in the same way.
  void targets(std::span<const std::uint32_t> samples, std::span<float> values,
               std::size_t epoch = 0) const {
    samples_.write_batch(samples, values, target_shape().size(),
                         [&](std::size_t i, std::span<float> sample) { target(i, sample, epoch); });
  }

 private:
  std::vector<segmentation_file> files_;
  segmentation_dataset_options options_;
  detail::photo_samples samples_;
  detail::mask_decoder masks_;
};

static_assert(varying_target_dataset<segmentation_dataset>);

}  // namespace glia
