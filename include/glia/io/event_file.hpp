#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "glia/core/error.hpp"
#include "glia/io/event_message.hpp"
#include "glia/io/protobuf_message.hpp"
#include "glia/io/record_frame.hpp"

namespace glia {

/// A new file of events in a folder, as TensorBoard reads it: TFRecords (tensorflow/core/lib/io) of
/// Event messages (tensorflow/core/util/event.proto). Its name has the time to the microsecond:
/// files are read in the order of their names. Each event is with the system once `add` returns, so
/// the file is readable at any time; at its end it may lack a part of a record after a loss of
/// power, which readers wait for.
///
/// Throws `data_error`, naming the folder or the file, where it cannot be made or written.
class event_file {
 public:
  /// Makes the folder, too.
  explicit event_file(const std::filesystem::path& folder) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    require<data_error>(std::filesystem::is_directory(folder), folder.string(),
                        ": cannot be made (", failure.message(),
                        "); event files need a folder to be written to");
    do {
      path_ = folder / name_now();
      file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    require<data_error>(file_ >= 0, path_.string(), ": cannot be written (", reason(),
                        "); is there the right to write to the folder, and room on the disk?");
    try {
      detail::protobuf_message version = stamped();
      version.add_bytes(3, "brain.Event:2");
      append(version);
    } catch (...) {
      close(file_);
      throw;
    }
  }
  event_file(const event_file&) = delete;
  event_file& operator=(const event_file&) = delete;
  ~event_file() { close(file_); }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// What there is to show of a step.
  void add(std::size_t step, const event_summary& summary) {
    detail::protobuf_message event = stamped();
    event.add_integer(2, step);
    event.add_bytes(5, summary.bytes());
    append(event);
  }

  /// Says that steps from this one on, in files before this one, were taken anew: TensorBoard then
  /// forgets them.
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
    const auto now =
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch());
    constexpr std::int64_t second = 1'000'000;
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "events.out.tfevents.%010lld.%06lld",
                  static_cast<long long>(now.count() / second),
                  static_cast<long long>(now.count() % second));
    return name.data();
  }
  /// An event with the time alone.
  [[nodiscard]] static detail::protobuf_message stamped() {
    detail::protobuf_message event;
    event.add_double(1, std::chrono::duration<double>(clock::now().time_since_epoch()).count());
    return event;
  }
  [[nodiscard]] static std::string reason() { return std::generic_category().message(errno); }

  void append(const detail::protobuf_message& event) {
    const std::string record = detail::framed_record(event.bytes());
    for (std::size_t done = 0; done < record.size();) {
      const ssize_t count = write(file_, record.data() + done, record.size() - done);
      require<data_error>(count >= 0 || errno == EINTR, path_.string(), ": writing failed (",
                          reason(), ")");
      done += count > 0 ? static_cast<std::size_t>(count) : 0;
    }
  }

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace glia
