#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ios>
#include <limits>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/data/file_reader.hpp"
#include "glia/io/record_frame.hpp"

namespace glia {

/// Writes records to a TFRecord file, the file format of TensorFlow's data pipelines.
///
/// The complete file appears under its name when `close` returns. Without `close`, for instance
/// after an exception, no file appears, and an existing file is unchanged.
///
///     glia::tfrecord_writer out("flowers.tfrecord");
///     out.write(encode_example(e));
///     out.close();
///
/// Throws `data_error`, with the name of the file, if the file cannot be written. Throws
/// `value_error` for a file without records and for calls after `close`.
class tfrecord_writer {
 public:
  explicit tfrecord_writer(const std::filesystem::path& path) : name_(path.string()), file_(path) {}

  /// Appends a record.
  void write(std::string_view record) {
    require_open();
    std::ostream& out = file_.stream();
    out << detail::record_head(record.size());
    out.write(record.data(), static_cast<std::streamsize>(record.size()));
    out << detail::record_tail(record);
    require<data_error>(out.good(), name_, ": writing the file failed; is the disk full?");
    ++records_;
  }
  void write(std::span<const std::uint8_t> record) {
    write(std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
  }

  /// Completes the file.
  void close() {
    require_open();
    require<value_error>(records_ > 0, name_,
                         ": expected one or more records before close; an empty file would look "
                         "like a lost one");
    closed_ = true;
    file_.close();
  }

 private:
  void require_open() const {
    require<value_error>(!closed_, name_,
                         ": the TFRecord file is closed; use another tfrecord_writer");
  }

  std::string name_;
  detail::whole_file file_;
  std::uint64_t records_ = 0;
  bool closed_ = false;
};

/// Options of `tfrecord_reader`.
struct tfrecord_options {
  /// The largest record in bytes, for compressed files and pipes; 1 GiB by default. For a larger
  /// record, the reader throws before it allocates memory. Uncompressed files need no limit: a
  /// record cannot be larger than the rest of the file.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// Reads the records of a TFRecord file from the first to the last, and verifies their checksums.
/// To read files compressed with gzip, pass `glia::gzip_files{}` as the reader.
///
///     glia::tfrecord_reader in("flowers.tfrecord");
///     while (const auto record = in.next()) {
///       const glia::tf_example e = glia::decode_example(*record);
///     }
///
/// The format does not store the number of records. A file that was truncated between two records
/// looks like a complete file with fewer records. If that matters, compare the number of records
/// with the expected one.
///
/// Throws `data_error` if the file is empty, is a folder or cannot be opened, or if a record is
/// damaged, truncated or larger than allowed. The message names the file, the number of the record
/// and the position of its first byte in the uncompressed data. After an error, `next` throws the
/// same error again.
template <file_reader Reader = plain_files>
class tfrecord_reader {
 public:
  explicit tfrecord_reader(const std::filesystem::path& path, const Reader& reader = {},
                           const tfrecord_options& options = {})
      : name_(path.string()),
        source_(reader.open(path)),
        // The checksum's bytes are added to the length, which must not overflow.
        max_bytes_(std::min(options.max_bytes, std::numeric_limits<std::uint64_t>::max() -
                                                   detail::record_check_bytes)) {
    std::error_code unknown;
    if (std::is_same_v<Reader, plain_files> && std::filesystem::is_regular_file(path, unknown)) {
      stored_ = std::filesystem::file_size(path);
    }
  }

  /// Returns the next record, or `std::nullopt` after the last one. The view is valid until the
  /// next call.
  [[nodiscard]] std::optional<std::string_view> next() {
    require<data_error>(failure_.empty(), failure_);
    try {
      return detail::within_memory(name_, [&] { return read_next(); });
    } catch (const data_error& e) {
      failure_ = e.what();
      throw;
    }
  }

 private:
  [[nodiscard]] std::optional<std::string_view> read_next() {
    const detail::record_name name{name_, number_, position_};
    std::array<std::uint8_t, detail::record_head_bytes> head{};
    const std::size_t head_bytes = source_.read(head);
    require<data_error>(head_bytes > 0 || number_ > 0, name_,
                        ": expected a TFRecord file with one or more records, got an empty file");
    if (head_bytes == 0) {
      return std::nullopt;
    }
    const std::uint64_t length =
        detail::checked_length(text_of(std::span(head).first(head_bytes)), name);
    if (stored_) {
      const std::uint64_t begin = position_ + head.size();
      detail::require_whole_record(length, *stored_ - std::min(*stored_, begin), name);
    }
    require<data_error>(stored_ || length <= max_bytes_, name, ": the record declares ", length,
                        " bytes, more than the ", max_bytes_,
                        " that are allowed; if you trust the file, raise "
                        "tfrecord_options::max_bytes");
    bytes_ = detail::read_announced(
        length + detail::record_check_bytes,
        [&](std::uint8_t* destination, std::size_t count) {
          return source_.read({destination, count});
        },
        std::move(bytes_));
    detail::require_whole_record(length, bytes_.size(), name);
    const auto size = static_cast<std::size_t>(length);
    const std::string_view record = text_of(std::span(bytes_).first(size));
    detail::require_undamaged_record(record, text_of(std::span(bytes_).subspan(size)), name);
    ++number_;
    position_ += head.size() + bytes_.size();
    return record;
  }

  [[nodiscard]] static std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  using source = decltype(std::declval<const Reader&>().open(std::filesystem::path()));

  std::string name_;
  source source_;
  std::uint64_t max_bytes_;
  std::optional<std::uint64_t> stored_;  // size of an uncompressed file in bytes
  std::uint64_t number_ = 0;             // number of the next record
  std::uint64_t position_ = 0;           // first byte of the next record
  std::vector<std::uint8_t> bytes_;      // the current record with its checksum
  std::string failure_;
};

}  // namespace glia
