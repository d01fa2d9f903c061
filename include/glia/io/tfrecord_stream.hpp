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

/// How several TFRecord files are read together.
struct tfrecord_stream_options {
  std::size_t interleave = 1;      ///< files that are read at a time, a record of each in turn
  std::size_t shuffle_buffer = 1;  ///< records in memory, one of which is drawn; 1: as they come
  std::uint64_t seed = 1;          ///< of the drawing
  tfrecord_options records{};
};

/// Reads the records of TFRecord files once, several files at a time and roughly shuffled: for
/// files that are too slow to be read here and there, and for compressed ones, with
/// `glia::gzip_files{}` as the reader.
///
///     glia::tfrecord_stream records(files, {.interleave = 4, .shuffle_buffer = 1000, .seed = 1});
///     while (const auto record = records.next()) {
///       const glia::example e = glia::decode_example(*record);
///     }
///
/// The first `interleave` files are read in turn; when one is through, the next file takes its
/// place in the round after: the order of `interleave` of tf.data with `block_length` 1. Each
/// record that is given is drawn from `shuffle_buffer` of them, whose place the next one takes. The
/// order depends on the options alone; another pass, with another seed, is another stream.
///
/// Throws as `tfrecord_reader` does, for a file when it is its turn, and again when asked again;
/// `value_error` for no files and for options below 1.
template <file_reader Reader = plain_files>
class tfrecord_stream {
 public:
  explicit tfrecord_stream(std::vector<std::filesystem::path> files,
                           const tfrecord_stream_options& options = {}, const Reader& reader = {})
      : files_(std::move(files)),
        options_(options),
        reader_(reader),
        random_({.seed = options.seed, .stream = drawing_stream}) {
    require<value_error>(!files_.empty(), "tfrecord_stream: expected at least one file");
    require<value_error>(options.interleave > 0 && options.shuffle_buffer > 0,
                         "tfrecord_stream: expected interleave and shuffle_buffer of at least 1, "
                         "got ",
                         options.interleave, " and ", options.shuffle_buffer);
    open_.resize(std::min(options.interleave, files_.size()));
  }

  /// The next record; none when all files are through.
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
    std::swap(waiting_[random_.below(waiting_.size())], waiting_.back());
    std::optional<std::string> drawn = std::move(waiting_.back());
    waiting_.pop_back();
    return drawn;
  }

 private:
  // Apart from those of a trainer, of splits and of augmentation.
  static constexpr std::uint32_t drawing_stream = 0xFFFFFFFC;

  /// The next record of the files, in turn.
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
  std::size_t opened_ = 0;  // files so far
  std::size_t turn_ = 0;    // whose it is, of `open_`
  std::vector<std::string> waiting_;
};

}  // namespace glia
