#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/io/record_frame.hpp"

namespace glia {

/// How an index of TFRecord files is made.
struct tfrecord_index_options {
  /// One record of each file after the other (the first ones, then the second ones, ...), until all
  /// are through; else one file after the other.
  bool interleaved = false;
};

/// The records of TFRecord files, of which each can be read at any time: their places are found by
/// going from one record's length to the next one's, without reading what is between. They take 32
/// bytes each. Several threads may read.
///
///     const glia::tfrecord_index records(glia::sharded_files("flowers/train"));
///     const glia::example e = glia::decode_example(records.read(7));
///
/// Throws `data_error`, naming the file, the record and the byte that it begins at, for a file that
/// is missing, empty, cut short, compressed or has a damaged length, and for a folder; `read` for a
/// record that is damaged or has changed since; `value_error` for no files.
class tfrecord_index {
 public:
  explicit tfrecord_index(std::vector<std::filesystem::path> files,
                          const tfrecord_index_options& options = {})
      : files_(std::move(files)) {
    require<value_error>(!files_.empty(), "tfrecord_index: expected at least one file");
    for (std::size_t file = 0; file < files_.size(); ++file) {
      detail::within_memory(files_[file].string(), [&] { add_places(file); });
    }
    if (options.interleaved) {
      std::sort(places_.begin(), places_.end(), [](const place& a, const place& b) {
        return std::pair(a.number, a.file) < std::pair(b.number, b.file);
      });
    }
  }

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

  /// What errors call record i: its file, its number there and its byte.
  [[nodiscard]] std::string name(std::size_t i) const {
    const place& p = places_[i];
    return text(detail::record_name{files_[p.file].native(), p.number, p.at});
  }

  [[nodiscard]] std::string read(std::size_t i) const {
    const place& p = places_[i];
    const std::string& file = files_[p.file].native();
    const detail::record_name name{file, p.number, p.at};
    return detail::within_memory(file, [&] {
      std::ifstream in(files_[p.file], std::ios::binary);
      in.seekg(static_cast<std::streamoff>(p.at));
      const std::uint64_t length = read_length(in, name);
      require<data_error>(length == p.length, name, ": had ", p.length,
                          " bytes when the file's records were counted, and has ", length,
                          " now; do not change files that are in use");
      std::string record(length, '\0');
      std::array<char, detail::record_check_bytes> tail{};
      in.read(record.data(), static_cast<std::streamsize>(length)).read(tail.data(), tail.size());
      require<data_error>(in.good(), name, ": reading failed; is the file cut short since its ",
                          "records were counted?");
      detail::require_undamaged_record(record, {tail.data(), tail.size()}, name);
      return record;
    });
  }

 private:
  /// Where a record is.
  struct place {
    std::size_t file = 0;
    std::uint64_t number = 0;  // in its file
    std::uint64_t at = 0;      // its head's first byte
    std::uint64_t length = 0;
  };

  [[nodiscard]] static std::uint64_t read_length(std::ifstream& in,
                                                 const detail::record_name& name) {
    std::array<char, detail::record_head_bytes> head{};
    in.read(head.data(), head.size());
    return detail::checked_length({head.data(), static_cast<std::size_t>(in.gcount())}, name);
  }

  void add_places(std::size_t file) {
    const std::filesystem::path& path = files_[file];
    const std::string& name = path.native();
    detail::require_no_folder(path);
    std::error_code unknown;
    require<data_error>(std::filesystem::is_regular_file(path, unknown), name, ": no such file");
    std::ifstream in(path, std::ios::binary);
    require<data_error>(in.is_open(), name, ": cannot be opened for reading");
    const std::uint64_t size = std::filesystem::file_size(path);
    require<data_error>(size > 0, name,
                        ": is empty; expected a TFRecord file of at least one record");
    std::uint64_t number = 0;
    for (std::uint64_t at = 0; at < size; ++number) {
      const detail::record_name record{name, number, at};
      in.seekg(static_cast<std::streamoff>(at));
      const std::uint64_t length = read_length(in, record);
      const std::uint64_t begin = at + detail::record_head_bytes;
      detail::require_whole_record(length, size - std::min(size, begin), record);
      places_.push_back({file, number, at, length});
      at = begin + length + detail::record_check_bytes;
    }
  }

  std::vector<std::filesystem::path> files_;
  std::vector<place> places_;
};

}  // namespace glia
