#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "glia/core/error.hpp"

namespace glia::detail {

/// A lock on a checkpoint folder. Only one training at a time, in this program or in another, can
/// hold the lock and write to the folder. The locked file is .glia-lock in the folder; it is not
/// removed. On file systems without locks, the lock has no effect.
class folder_lock {
 public:
  /// Throws `data_error` if another training holds the lock.
  explicit folder_lock(const std::filesystem::path& folder)
      : file_(::open((folder / ".glia-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ >= 0 && flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(file_);
      throw data_error(text(folder.string(),
                            ": another running training writes its checkpoints to this folder; "
                            "wait until it ends, or use another folder"));
    }
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() {
    if (file_ < 0) {
      return;
    }
    if (getpid() == owner_) {  // a child process inherits the lock but does not own it
      flock(file_, LOCK_UN);
    }
    close(file_);
  }

 private:
  int file_;
  pid_t owner_ = getpid();
};

}  // namespace glia::detail
