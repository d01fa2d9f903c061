#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/read_image.hpp"
#include "glia/io/example.hpp"
#include "glia/io/tfrecord.hpp"

namespace glia {

/// Options of `write_tfrecords`.
struct write_tfrecords_options {
  std::size_t shards = 1;  ///< Number of files, from 1 to the number of images and at most 99999.
  /// The names of the classes, such as those of an `image_folder`. If empty, no names are written.
  std::vector<std::string> class_names = {};
  /// Seed for shuffling the images. Without a seed, the images are written in their order.
  std::optional<std::uint64_t> seed = {};
  std::string image_feature = "image";  ///< Name of the feature with the bytes of the image file.
  std::string class_feature = "class";  ///< Name of the feature with the class index.
  std::string name_feature = "label";   ///< Name of the feature with the class name.
  std::string suffix = ".tfrecord";     ///< Suffix of the files' names.
};

namespace detail {

[[nodiscard]] inline std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(digits.size(), 5), '0') + digits;
}

}  // namespace detail

/// Writes image files with their class labels to TFRecord files, and returns the paths of the
/// TFRecord files.
///
/// The bytes of the image files are stored unchanged. Image i goes to file i mod `shards`, so that
/// reading with `interleaved` restores the order. The names consist of `beginning` and the number
/// of the file, as in TensorFlow.
///
///     const glia::image_folder flowers("flowers");
///     write_tfrecords(flowers.files(), "records/flowers",
///                     {.shards = 4, .class_names = flowers.class_names(), .seed = 1});
///     // records/flowers-00000-of-00004.tfrecord, ...
///
/// A file appears only after it is complete. After an error, the files that are already complete
/// stay; `sharded_files` then reports that other files are missing.
///
/// Throws `data_error`, with the name of the file, if an image cannot be read or is neither JPEG
/// nor PNG, or if a file cannot be written. Throws `value_error` if an option is outside its range,
/// or if a label is negative or has no class name.
inline std::vector<std::filesystem::path> write_tfrecords(
    std::span<const image_file> photos, const std::filesystem::path& beginning,
    const write_tfrecords_options& options = {}) {
  constexpr std::size_t max_shards = 99999;  // the largest number with five digits
  require<value_error>(options.shards > 0 && options.shards <= std::min(photos.size(), max_shards),
                       "write_tfrecords: expected 1 to ", std::min(photos.size(), max_shards),
                       " shards for ", photos.size(), " images, got ", options.shards);
  const std::size_t names = options.class_names.size();
  for (const image_file& photo : photos) {
    const auto label = static_cast<std::size_t>(photo.label);
    require<value_error>(
        photo.label >= 0 && (names == 0 || label < names), "write_tfrecords: ", photo.path.string(),
        " has the label ", photo.label, ", expected ",
        names == 0 ? "a class index of at least 0"
                   : text("a class index below ", names, ", the number of class_names"));
  }
  std::vector<std::size_t> order(photos.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (options.seed) {
    shuffle(std::span(order), {.seed = *options.seed});
  }
  std::vector<std::filesystem::path> files;
  for (std::size_t shard = 0; shard < options.shards; ++shard) {
    files.push_back(beginning);
    files.back() += "-" + detail::five_digits(shard) + "-of-" +
                    detail::five_digits(options.shards) + options.suffix;
    tfrecord_writer out(files.back());
    for (std::size_t i = shard; i < photos.size(); i += options.shards) {
      const image_file& photo = photos[order[i]];
      const auto bytes = detail::naming_file(
          photo.path, [&] { return detail::load_image_file(photo.path).bytes; });
      tf_example e;
      e.features[options.image_feature] =
          std::vector<std::string>{std::string(bytes.begin(), bytes.end())};
      e.features[options.class_feature] = std::vector<std::int64_t>{photo.label};
      if (!options.class_names.empty()) {
        e.features[options.name_feature] =
            std::vector<std::string>{options.class_names[static_cast<std::size_t>(photo.label)]};
      }
      out.write(encode_example(e));
    }
    out.close();
  }
  return files;
}

}  // namespace glia
