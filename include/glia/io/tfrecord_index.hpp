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

/// Options of `tfrecord_index`.
struct tfrecord_index_options {
  /// Whether the records of the files alternate: the first record of each file, then the second
  /// record of each file, and so on. If false, the files follow one after the other.
  bool interleaved = false;
};

/// Gives random access to the records of TFRecord files.
///
/// The constructor finds the positions of all records from their lengths, without reading their
/// contents. The index takes 32 bytes of memory for each record. Several threads may call `read` at
/// the same time. Compressed files have no random access; read them with `tfrecord_reader`.
///
///     const glia::tfrecord_index records(glia::sharded_files("flowers/train"));
///     const glia::tf_example e = glia::decode_example(records.read(7));
///
/// The constructor throws `value_error` if the list of files is empty. It throws `data_error` if a
/// file is missing, empty, truncated, compressed or a folder, or if the length of a record is
/// damaged. `read` throws `data_error` if the record is damaged or has changed. The messages name
/// the file, the number of the record and the position of its first byte.
class tfrecord_index {
 public:
  explicit tfrecord_index(std::vector<std::filesystem::path> files,
                          const tfrecord_index_options& options = {})
      : files_(std::move(files)) {
    require<value_error>(!files_.empty(),
                         "tfrecord_index: expected one or more files, got an empty list");
    for (std::size_t file = 0; file < files_.size(); ++file) {
      detail::within_memory(files_[file].string(), [&] { add_places(file); });
    }
    if (options.interleaved) {
      std::sort(places_.begin(), places_.end(), [](const place& a, const place& b) {
        return std::pair(a.number, a.file) < std::pair(b.number, b.file);
      });
    }
  }

  /// The number of records in all files.
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  /// The files.
  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

  /// Returns the name of record `i` for error messages: its file, its number in the file and the
  /// position of its first byte.
  [[nodiscard]] std::string name(std::size_t i) const {
    const place& p = places_[i];
    return text(detail::record_name{files_[p.file].string(), p.number, p.position});
  }

  /// Reads record `i`, counted from 0.
  [[nodiscard]] std::string read(std::size_t i) const {
    const place& p = places_[i];
    const std::string file = files_[p.file].string();
    const detail::record_name name{file, p.number, p.position};
    return detail::within_memory(file, [&] {
      std::ifstream stream(files_[p.file], std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(p.position));
      const std::uint64_t length = read_length(stream, name);
      require<data_error>(length == p.length, name, ": the record had ", p.length,
                          " bytes when the index was made, and has ", length,
                          " bytes now; do not change files that are in use");
      std::string record(detail::memory_size(length), '\0');
      std::array<char, detail::record_check_bytes> tail{};
      stream.read(record.data(), static_cast<std::streamsize>(length))
          .read(tail.data(), tail.size());
      require<data_error>(stream.good(), name,
                          ": reading the record failed; was the file truncated after the index was "
                          "made?");
      detail::require_undamaged_record(record, {tail.data(), tail.size()}, name);
      return record;
    });
  }

 private:
  /// The position of a record.
  struct place {
    std::size_t file = 0;        // index of its file
    std::uint64_t number = 0;    // number of the record in its file
    std::uint64_t position = 0;  // first byte of its header
    std::uint64_t length = 0;    // number of bytes
  };

  [[nodiscard]] static std::uint64_t read_length(std::ifstream& stream,
                                                 const detail::record_name& name) {
    std::array<char, detail::record_head_bytes> head{};
    stream.read(head.data(), head.size());
    return detail::checked_length({head.data(), static_cast<std::size_t>(stream.gcount())}, name);
  }

  void add_places(std::size_t file) {
    const std::filesystem::path& path = files_[file];
    const std::string name = path.string();
    detail::require_no_folder(path);
    std::error_code unknown;
    require<data_error>(std::filesystem::is_regular_file(path, unknown), name, ": no such file");
    std::ifstream stream(path, std::ios::binary);
    require<data_error>(stream.is_open(), name, ": the file cannot be opened for reading");
    const std::uint64_t size = std::filesystem::file_size(path);
    require<data_error>(size > 0, name,
                        ": expected a TFRecord file with one or more records, got an empty file");
    std::uint64_t number = 0;
    for (std::uint64_t position = 0; position < size; ++number) {
      const detail::record_name record{name, number, position};
      stream.seekg(static_cast<std::streamoff>(position));
      const std::uint64_t length = read_length(stream, record);
      const std::uint64_t begin = position + detail::record_head_bytes;
      detail::require_whole_record(length, size - std::min(size, begin), record);
      places_.push_back({file, number, position, length});
      position = begin + length + detail::record_check_bytes;
    }
  }

  std::vector<std::filesystem::path> files_;
  std::vector<place> places_;
};

}  // namespace glia
