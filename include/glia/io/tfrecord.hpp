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

/// Writes a TFRecord file, record by record. It is there, whole, once `close` has returned; without
/// that, as when something is thrown meanwhile, nothing is, or what was there before.
///
///     glia::tfrecord_writer out("flowers.tfrecord");
///     out.write(encode(e));
///     out.close();
///
/// Throws `data_error`, naming the file, where it cannot be written, `value_error` for a file
/// without records, and for what is called after `close`.
class tfrecord_writer {
 public:
  explicit tfrecord_writer(const std::filesystem::path& path) : name_(path.string()), file_(path) {}

  void write(std::string_view record) {
    require_open();
    std::ostream& out = file_.stream();
    out << detail::record_head(record.size());
    out.write(record.data(), static_cast<std::streamsize>(record.size()));
    out << detail::record_tail(record);
    require<data_error>(out.good(), name_, ": writing failed; is the disk full?");
    ++records_;
  }
  void write(std::span<const std::uint8_t> record) {
    write(std::string_view(reinterpret_cast<const char*>(record.data()), record.size()));
  }

  void close() {
    require_open();
    require<value_error>(records_ > 0, name_,
                         ": expected at least one record; an empty file could not be told from "
                         "one that was lost");
    closed_ = true;
    file_.close();
  }

 private:
  void require_open() const {
    require<value_error>(!closed_, name_, ": the TFRecord file is closed; begin another one");
  }

  std::string name_;
  detail::whole_file file_;
  std::uint64_t records_ = 0;
  bool closed_ = false;
};

/// How much a record may hold, and whether checksums are looked at.
struct tfrecord_options {
  /// A record that declares more bytes than this in a compressed file, or in a pipe, of which
  /// nobody knows how much is left, is refused before memory is taken for it.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// Reads a TFRecord file from its first record to its last; `glia::gzip_files{}` as the reader also
/// reads compressed ones. All checksums are checked.
///
///     glia::tfrecord_reader in("flowers.tfrecord");
///     while (const auto record = in.next()) {
///       const glia::example e = glia::decode_example(*record);
///     }
///
/// The format says nowhere how many records there are: a file that was cut between two of them is a
/// whole file of fewer, and nothing tells. Compare the count with what it should be where that
/// matters.
///
/// Throws `data_error`, naming the file, the record and the byte (of what is unpacked) that it
/// begins at, for what is damaged, cut short or larger than allowed; for a file that is empty or
/// cannot be opened, and a folder. After an error, `next` throws it again.
template <file_reader Reader = plain_files>
class tfrecord_reader {
 public:
  explicit tfrecord_reader(const std::filesystem::path& path, const Reader& reader = {},
                           const tfrecord_options& options = {})
      : name_(path.string()),
        source_(reader.open(path)),
        // So that the check's bytes can be added.
        most_(std::min(options.max_bytes,
                       std::numeric_limits<std::uint64_t>::max() - detail::record_check_bytes)) {
    std::error_code unknown;
    if (std::is_same_v<Reader, plain_files> && std::filesystem::is_regular_file(path, unknown)) {
      stored_ = std::filesystem::file_size(path);
    }
  }

  /// The next record, good until the next call; none behind the last.
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
    const detail::record_name name{name_, number_, at_};
    std::array<std::uint8_t, detail::record_head_bytes> head{};
    const std::size_t got = source_.read(head);
    require<data_error>(got > 0 || number_ > 0, name_,
                        ": is empty; expected a TFRecord file of at least one record");
    if (got == 0) {
      return std::nullopt;
    }
    const std::uint64_t length = detail::checked_length(text_of(std::span(head).first(got)), name);
    if (stored_) {
      const std::uint64_t begin = at_ + head.size();
      detail::require_whole_record(length, *stored_ - std::min(*stored_, begin), name);
    }
    require<data_error>(stored_ || length <= most_, name, ": declares ", length,
                        " bytes, more than the ", most_,
                        " that are allowed; raise max_bytes if the file is to be trusted");
    bytes_ = detail::read_announced(
        length + detail::record_check_bytes,
        [&](std::uint8_t* to, std::size_t count) {
          return source_.read({to, count});
        },
        std::move(bytes_));
    detail::require_whole_record(length, bytes_.size(), name);
    const std::string_view record = text_of(std::span(bytes_).first(length));
    detail::require_undamaged_record(record, text_of(std::span(bytes_).subspan(length)), name);
    ++number_;
    at_ += head.size() + bytes_.size();
    return record;
  }

  [[nodiscard]] static std::string_view text_of(std::span<const std::uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  using source = decltype(std::declval<const Reader&>().open(std::filesystem::path()));

  std::string name_;
  source source_;
  std::uint64_t most_;
  std::optional<std::uint64_t> stored_;  // bytes of a file that is read as it lies on the disk
  std::uint64_t number_ = 0;             // of the next record
  std::uint64_t at_ = 0;                 // the byte that it begins at
  std::vector<std::uint8_t> bytes_;      // of a record, and its check
  std::string failure_;
};

}  // namespace glia
