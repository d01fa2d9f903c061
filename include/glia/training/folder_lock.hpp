#pragma once

#include <filesystem>
#include <system_error>

#include "glia/core/error.hpp"
#include "glia/core/platform/file.hpp"
#include "glia/core/platform/process.hpp"

namespace glia::detail {

/// A lock on a checkpoint folder. Only one training at a time, in this program or in another, can
/// hold the lock and write to the folder. The locked file is .glia-lock in the folder; it is not
/// removed. On file systems without locks, the lock has no effect.
class folder_lock {
 public:
  /// Throws `data_error` if another training holds the lock.
  explicit folder_lock(const std::filesystem::path& folder) {
    std::error_code ignored;
    file_ = platform::file::open_to_lock(folder / ".glia-lock", ignored);
    require<data_error>(!file_ || file_.try_lock(false) != platform::lock_result::refused,
                        folder.string(),
                        ": another running training writes its checkpoints to this folder; "
                        "wait until it ends, or use another folder");
  }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;
  ~folder_lock() {
    // A child process inherits the lock but does not own it.
    if (file_ && platform::process_id() == owner_) {
      file_.unlock();
    }
  }

 private:
  platform::file file_;
  int owner_ = platform::process_id();
};

}  // namespace glia::detail
