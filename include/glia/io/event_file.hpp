#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "glia/core/error.hpp"
#include "glia/core/platform/file.hpp"
#include "glia/io/event_message.hpp"
#include "glia/io/protobuf_message.hpp"
#include "glia/io/record_frame.hpp"

namespace glia::detail {

/// Writes an event file for TensorBoard.
///
/// The file consists of TFRecords (tensorflow/core/lib/io) with Event messages
/// (tensorflow/core/util/event.proto). Its name contains the time in microseconds, because
/// TensorBoard reads files in the order of their names. Each event is passed to the operating
/// system before `add` returns, so that the file can be read at any time. After a power failure,
/// the last record may be incomplete; readers then wait for the rest.
///
/// Throws `data_error`, with the name of the folder or file, if the file cannot be created or
/// written.
class event_file {
 public:
  /// Creates a new file in the folder, and the folder if it does not exist.
  explicit event_file(const std::filesystem::path& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require<data_error>(std::filesystem::is_directory(folder), folder.string(),
                        ": the folder for event files cannot be created (", failure.message(), ")");
    do {
      path_ = folder / name_now();
      file_ = platform::file::create(path_, std::filesystem::perms{0666}, failure);
    } while (failure == std::errc::file_exists);
    require<data_error>(!failure, path_.string(), ": the file cannot be written (",
                        failure.message(),
                        "); check the permissions of the folder and the space on the disk");
    detail::protobuf_message version = stamped();
    version.add_bytes(3, "brain.Event:2");
    append(version);
  }

  /// The path of the file.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Appends the scalars and histograms of one step.
  void add(std::size_t step, const event_summary& summary) {
    detail::protobuf_message event = stamped();
    event.add_integer(2, step);
    event.add_bytes(5, summary.bytes());
    append(event);
  }

  /// Marks that the training starts again at this step. TensorBoard then drops the events of this
  /// and later steps in earlier files.
  void begin_at(std::size_t step) {
    detail::protobuf_message session;
    session.add_integer(1, 1);  // SessionLog.START
    detail::protobuf_message event = stamped();
    event.add_integer(2, step);
    event.add_bytes(7, session.bytes());
    append(event);
  }

 private:
  using clock = std::chrono::system_clock;

  [[nodiscard]] static std::string name_now() {
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch());
    constexpr std::int64_t second = 1'000'000;
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "events.out.tfevents.%010lld.%06lld",
                  static_cast<long long>(time.count() / second),
                  static_cast<long long>(time.count() % second));
    return name.data();
  }
  /// Returns an event with the current time and no other fields.
  [[nodiscard]] static detail::protobuf_message stamped() {
    detail::protobuf_message event;
    event.add_double(1, std::chrono::duration<double>(clock::now().time_since_epoch()).count());
    return event;
  }

  void append(const detail::protobuf_message& event) {
    const std::string record = detail::framed_record(event.bytes());
    std::error_code failure;
    file_.write(std::as_bytes(std::span(record)), failure);
    require<data_error>(!failure, path_.string(), ": writing the file failed (", failure.message(),
                        ")");
  }

  std::filesystem::path path_;
  platform::file file_;
};

}  // namespace glia::detail
