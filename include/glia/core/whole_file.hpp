#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <locale>
#include <ostream>
#include <span>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/platform/file.hpp"
#include "glia/core/platform/process.hpp"

namespace glia {

namespace detail {

/// Returns the target of a path after following symbolic links. The target need not exist.
[[nodiscard]] inline std::filesystem::path followed(const std::filesystem::path& path) {
  constexpr int max_links = 40;  // as Linux
  std::filesystem::path target = path;
  for (int links = 0; links < max_links; ++links) {
    std::error_code failure;
    const std::filesystem::path next = std::filesystem::read_symlink(target, failure);
    if (failure) {  // not a link, or does not exist
      return target;
    }
    target = target.parent_path() / next;
  }
  throw data_error(text(path.string(), ": its symbolic links form a loop"));
}

/// A new, empty file in the folder of a target file. The file can replace the target later. Its
/// name is unique among all programs. The destructor deletes the file unless it has replaced the
/// target.
class part_file {
 public:
  /// Creates the file. `name` is the target's name in error messages. Throws `data_error` if the
  /// file cannot be created.
  part_file(const std::filesystem::path& target, std::string name) : name_(std::move(name)) {
    using std::filesystem::perms;
    std::error_code failure;
    const std::filesystem::file_status old = std::filesystem::status(target, failure);
    replaces_ = std::filesystem::exists(old);
    permissions_ = (replaces_ ? old.permissions() : perms{0666}) & perms{0777};
    // Programs on other machines or in containers may have the same process number, and a killed
    // program may have left its files. Then the next name is tried.
    static std::atomic<std::uint64_t> counter{0};
    do {
      path_ = target.parent_path() / text(part_name, platform::process_id(), '-',
                                          counter.fetch_add(1, std::memory_order_relaxed));
      file_ = platform::file::create(path_, permissions_ | perms::owner_read | perms::owner_write,
                                     failure);
    } while (failure ? failure == std::errc::file_exists : !is_held());
    require<data_error>(!failure, name_, ": cannot be written (", failure.message(),
                        "); check that the folder exists and is writable");
  }
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  ~part_file() {
    file_ = {};
    if (!replaced_) {
      std::error_code ignored;
      std::filesystem::remove(path_, ignored);
    }
  }

  /// Returns the open file. Write only through this object: the file is locked, and SMB shares
  /// refuse to write through another one.
  [[nodiscard]] platform::file& file() { return file_; }

  /// Removes the unfinished part files that killed programs have left in a folder. A file that
  /// cannot be locked stays, since another program may be writing it; on file systems without
  /// locks, all files stay. The lock is a shared one, because NFS also grants it for a file that is
  /// open only for reading.
  static void remove_abandoned(const std::filesystem::path& folder) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
      std::error_code ignored;
      if (!entry.path().filename().string().starts_with(part_name) || entry.is_symlink(ignored)) {
        continue;
      }
      platform::file file = platform::file::open(entry.path(), ignored);
      if (file && file.try_lock(true) == platform::lock_result::acquired) {
        std::filesystem::remove(entry.path(), ignored);
      }
    }
  }

  /// Waits until the file's bytes are on the disk, and then gives it the target's name and
  /// permissions. Without waiting, a power failure could leave the target's name without the bytes.
  void replace(const std::filesystem::path& target) {
    std::error_code failure;
    if (replaces_) {
      file_.set_permissions(permissions_);
    }
    file_.synchronize(failure);
    require<data_error>(!failure, name_, ": writing failed (", failure.message(), ")");
    platform::replace_file(path_, target, failure);
    require<data_error>(!failure, name_, ": cannot be replaced (", failure.message(),
                        "); check that it is neither a folder nor read-only and that no program "
                        "has it open");
    replaced_ = true;
    // After a power failure, the file is complete under either name.
    platform::synchronize_folder(target.has_parent_path() ? target.parent_path() : ".");
  }

 private:
  static constexpr const char* part_name = ".glia-part-";

  /// Locks the file so that other programs see that it is being written. Returns false, and closes
  /// the file, if another program removed it before it was locked. Returns true on file systems
  /// without locks.
  [[nodiscard]] bool is_held() {
    file_.lock();
    if (file_.is_removed()) {
      file_ = {};
      return false;
    }
    return true;
  }

  std::string name_;
  std::filesystem::path path_;
  std::filesystem::perms permissions_{};
  platform::file file_;
  bool replaces_ = false;
  bool replaced_ = false;
};

/// A stream buffer that writes to an open file.
class file_buffer : public std::streambuf {
 public:
  explicit file_buffer(platform::file& file) : file_(&file) { clear(); }

 protected:
  int_type overflow(int_type next) override {
    if (sync() != 0) {
      return traits_type::eof();
    }
    return traits_type::eq_int_type(next, traits_type::eof())
               ? traits_type::not_eof(next)
               : sputc(traits_type::to_char_type(next));
  }
  int sync() override {
    std::error_code failure;
    file_->write(std::as_bytes(std::span(pbase(), pptr())), failure);
    clear();
    return failure ? -1 : 0;
  }

 private:
  void clear() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  platform::file* file_;
  std::vector<char> bytes_ = std::vector<char>(std::size_t{1} << 16);
};

/// A file that is being written; see `write_whole_file`. `close` gives the file its name; without
/// this call, the destructor deletes it.
class whole_file {
 public:
  explicit whole_file(const std::filesystem::path& path)
      : name_(path.string()),
        target_(replaceable(path)),
        part_(target_, name_),
        buffer_(part_.file()),
        out_(&buffer_) {
    out_.imbue(std::locale::classic());
  }

  [[nodiscard]] std::ostream& stream() { return out_; }

  void close() {
    out_.flush();
    require<data_error>(out_.good(), name_, ": writing failed; check that the disk is not full");
    part_.replace(target_);
  }

 private:
  /// Returns the file that will be replaced. Throws `data_error` for folders, devices and pipes.
  [[nodiscard]] static std::filesystem::path replaceable(const std::filesystem::path& path) {
    std::filesystem::path target = followed(path);
    std::error_code ignored;
    const std::filesystem::file_status status = std::filesystem::status(target, ignored);
    require<data_error>(!std::filesystem::is_directory(status), path.string(),
                        ": is a folder; expected a file");
    require<data_error>(
        !std::filesystem::exists(status) || std::filesystem::is_regular_file(status), path.string(),
        ": is a device or a pipe; expected a regular file");
    return target;
  }

  std::string name_;
  std::filesystem::path target_;
  part_file part_;
  file_buffer buffer_;
  std::ostream out_;
};

}  // namespace detail

/// Writes a file with `write(stream)`, completely or not at all. The data go to a temporary file in
/// the same folder (.glia-part-...), which is renamed when it is complete and on the disk. After an
/// interruption, the old file or no file of that name exists, never an incomplete one.
///
/// If several threads or programs write to one path, all of them succeed and the last file remains.
/// Symbolic links stay, and their target is replaced. The new file gets the permissions of the file
/// that it replaces. The stream writes numbers independently of the program's locale.
///
/// Throws `data_error`, with the path, if the file cannot be written. Exceptions of `write` are
/// passed on.
template <class Write>
void write_whole_file(const std::filesystem::path& path, const Write& write) {
  detail::whole_file file(path);
  write(file.stream());
  file.close();
}

}  // namespace glia
