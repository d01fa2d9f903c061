#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/data/file_reader.hpp"
#include "glia/io/tfrecord.hpp"

namespace glia {

/// Options of `tfrecord_stream`.
struct tfrecord_stream_options {
  std::size_t interleave = 1;      ///< Number of files read in turn, one record each; at least 1.
  std::size_t shuffle_buffer = 1;  ///< Number of records that wait to be drawn; 1: no shuffling.
  std::uint64_t seed = 1;          ///< Seed of the shuffling.
  tfrecord_options records{};      ///< Options of the reader of each file.
};

/// Reads the records of several TFRecord files once, from beginning to end, and shuffles them with
/// a buffer.
///
/// Use it for files on slow disks or networks, where the random access of `tfrecord_index` is too
/// slow, and for compressed files, with `glia::gzip_files{}` as the reader.
///
///     glia::tfrecord_stream records(files, {.interleave = 4, .shuffle_buffer = 1000, .seed = 1});
///     while (const auto record = records.next()) {
///       const glia::tf_example e = glia::decode_example(*record);
///     }
///
/// The first `interleave` files are read in turn, one record each. When a file ends, the next file
/// takes its place in the following round. This is the order of `interleave` in tf.data with
/// `block_length` 1. `next` draws a record at random from a buffer of `shuffle_buffer` records,
/// which is refilled in this order. The order of the drawn records depends only on the files and
/// the options. For another epoch, make another stream with another seed.
///
/// Throws `value_error` if the list of files is empty or an option is below 1. `next` opens and
/// reads the files, and throws `data_error` as `tfrecord_reader` does.
template <file_reader Reader = plain_files>
class tfrecord_stream {
 public:
  explicit tfrecord_stream(std::vector<std::filesystem::path> files,
                           const tfrecord_stream_options& options = {}, const Reader& reader = {})
      : files_(std::move(files)),
        options_(options),
        reader_(reader),
        random_({.seed = options.seed, .stream = drawing_stream}) {
    require<value_error>(!files_.empty(),
                         "tfrecord_stream: expected one or more files, got an empty list");
    require<value_error>(options.interleave > 0 && options.shuffle_buffer > 0,
                         "tfrecord_stream: expected an interleave and a shuffle_buffer of at least "
                         "1, got ",
                         options.interleave, " and ", options.shuffle_buffer);
    open_.resize(std::min(options.interleave, files_.size()));
  }

  /// Returns the next record, or `std::nullopt` after the last record of all files.
  [[nodiscard]] std::optional<std::string> next() {
    while (waiting_.size() < options_.shuffle_buffer) {
      std::optional<std::string> record = read();
      if (!record) {
        break;
      }
      waiting_.push_back(std::move(*record));
    }
    if (waiting_.empty()) {
      return std::nullopt;
    }
    std::swap(waiting_[random_.integer(waiting_.size())], waiting_.back());
    std::optional<std::string> drawn = std::move(waiting_.back());
    waiting_.pop_back();
    return drawn;
  }

 private:
  // Different from the random streams of trainers, splits and augmentation.
  static constexpr std::uint32_t drawing_stream = 0xFFFFFFFC;

  /// Reads the next record, from the open files in turn.
  [[nodiscard]] std::optional<std::string> read() {
    for (std::size_t idle = 0; idle < open_.size(); turn_ = (turn_ + 1) % open_.size()) {
      std::optional<tfrecord_reader<Reader>>& file = open_[turn_];
      if (!file && opened_ < files_.size()) {
        file.emplace(files_[opened_], reader_, options_.records);
        ++opened_;
      }
      idle = file ? 0 : idle + 1;
      if (const auto record = file ? file->next() : std::nullopt) {
        turn_ = (turn_ + 1) % open_.size();
        return std::string(*record);
      }
      file.reset();
    }
    return std::nullopt;
  }

  std::vector<std::filesystem::path> files_;
  tfrecord_stream_options options_;
  Reader reader_;
  random_stream random_;
  std::vector<std::optional<tfrecord_reader<Reader>>> open_;
  std::size_t opened_ = 0;  // number of files opened so far
  std::size_t turn_ = 0;    // index in open_ of the file to be read next
  std::vector<std::string> waiting_;
};

}  // namespace glia
