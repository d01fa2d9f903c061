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

/// How photos are written into TFRecord files.
struct write_tfrecords_options {
  std::size_t shards = 1;  ///< files; at least 1, at most as many as photos
  /// The names of the classes, such as those of an `image_folder`; empty: none are written.
  std::vector<std::string> class_names = {};
  /// Shuffles the photos before; else they are written in their order.
  std::optional<std::uint64_t> seed = {};
  std::string image_feature = "image";  ///< the bytes of the photo's file
  std::string class_feature = "class";  ///< its class
  std::string name_feature = "label";   ///< the name of its class
  std::string suffix = ".tfrecord";
};

namespace detail {

[[nodiscard]] inline std::string five_digits(std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(5 - std::min<std::size_t>(digits.size(), 5), '0') + digits;
}

}  // namespace detail

/// Writes photos, their files' bytes as they are, with their classes to TFRecord files: photo i to
/// file i mod `shards`, so that read interleaved they have their order. The files are named after
/// the beginning of a path and their number, as TensorFlow names them, and are returned in order.
///
///     const glia::image_folder flowers("flowers");
///     write_tfrecords(flowers.files(), "records/flowers",
///                     {.shards = 4, .class_names = flowers.class_names(), .seed = 1});
///     // records/flowers-00000-of-00004.tfrecord, ...
///
/// Each file is there whole or not at all. Where something fails, those before it stay;
/// `sharded_files` finds out that others are missing.
///
/// Throws `data_error`, naming the file, for a photo that cannot be read or is neither JPEG nor
/// PNG, and where a file cannot be written; `value_error` for options outside their ranges and for
/// a class below 0 or without a name.
inline std::vector<std::filesystem::path> write_tfrecords(
    std::span<const image_file> photos, const std::filesystem::path& beginning,
    const write_tfrecords_options& options = {}) {
  constexpr std::size_t most = 99999;  // that five digits number
  require<value_error>(options.shards > 0 && options.shards <= std::min(photos.size(), most),
                       "write_tfrecords: expected from 1 to ", std::min(photos.size(), most),
                       " shards of ", photos.size(), " photos, got ", options.shards);
  const std::size_t names = options.class_names.size();
  for (const image_file& photo : photos) {
    const auto label = static_cast<std::size_t>(photo.label);
    require<value_error>(
        photo.label >= 0 && (names == 0 || label < names), "write_tfrecords: ", photo.path.string(),
        " has the class ", photo.label, ", expected one ",
        names == 0 ? "counted from 0" : text("of the ", names, " that have names"));
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
      example e;
      e.features[options.image_feature] =
          std::vector<std::string>{std::string(bytes.begin(), bytes.end())};
      e.features[options.class_feature] = std::vector<std::int64_t>{photo.label};
      if (!options.class_names.empty()) {
        e.features[options.name_feature] =
            std::vector<std::string>{options.class_names[static_cast<std::size_t>(photo.label)]};
      }
      out.write(encode(e));
    }
    out.close();
  }
  return files;
}

}  // namespace glia
