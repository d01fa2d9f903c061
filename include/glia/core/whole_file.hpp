#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <locale>
#include <ostream>
#include <streambuf>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"

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
    struct stat old {};
    replaces_ = stat(target.c_str(), &old) == 0;
    mode_ = replaces_ ? old.st_mode & 0777U : 0666U;
    // Programs on other machines or in containers may have the same process number, and a killed
    // program may have left its files. Then the next name is tried.
    static std::atomic<std::uint64_t> counter{0};
    do {
      path_ = target.parent_path() /
              text(part_name, getpid(), '-', counter.fetch_add(1, std::memory_order_relaxed));
      file_ =
          ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_ | S_IRUSR | S_IWUSR);
    } while (file_ < 0 ? errno == EEXIST : !is_held());
    require<data_error>(file_ >= 0, name_, ": cannot be written (", reason(),
                        "); check that the folder exists and is writable");
  }
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  ~part_file() {
    close(file_);
    if (!replaced_) {
      unlink(path_.c_str());
    }
  }

  /// Returns the descriptor of the open file. Write only through this descriptor: the file is
  /// locked, and SMB shares refuse to write through another one.
  [[nodiscard]] int descriptor() const { return file_; }

  /// Removes the unfinished part files that killed programs have left in a folder. A file that
  /// cannot be locked stays, since another program may be writing it; on file systems without
  /// locks, all files stay. The lock is a shared one, because NFS also grants it for a file that is
  /// open only for reading.
  static void remove_abandoned(const std::filesystem::path& folder) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
      if (!entry.path().filename().string().starts_with(part_name)) {
        continue;
      }
      const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
      if (file >= 0 && flock(file, LOCK_SH | LOCK_NB) == 0) {
        unlink(entry.path().c_str());
      }
      if (file >= 0) {
        close(file);
      }
    }
  }

  /// Waits until the file's bytes are on the disk, and then gives it the target's name and
  /// permissions. Without waiting, a power failure could leave the target's name without the bytes.
  void replace(const std::filesystem::path& target) {
    if (replaces_) {
      // Some file systems have no permissions to preserve.
      [[maybe_unused]] const int ignored = fchmod(file_, mode_);
    }
    const bool synced = fsync(file_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
    require<data_error>(synced, name_, ": writing failed (", reason(), ")");
    require<data_error>(std::rename(path_.c_str(), target.c_str()) == 0, name_,
                        ": cannot be replaced (", reason(), ")");
    replaced_ = true;
    // After a power failure, the file is complete under either name. It is no error if the folder
    // cannot be opened or synchronized.
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const int names = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (names >= 0) {
      fsync(names);
      close(names);
    }
  }

 private:
  static constexpr const char* part_name = ".glia-part-";

  /// Locks the file so that other programs see that it is being written. Returns false, and closes
  /// the file, if another program removed it before it was locked. Returns true on file systems
  /// without locks.
  [[nodiscard]] bool is_held() {
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat status {};
    if (fstat(file_, &status) == 0 && status.st_nlink == 0) {
      close(file_);
      return false;
    }
    return true;
  }

  [[nodiscard]] static std::string reason() { return std::generic_category().message(errno); }

  std::string name_;
  std::filesystem::path path_;
  mode_t mode_ = 0;
  int file_ = -1;
  bool replaces_ = false;
  bool replaced_ = false;
};

/// A stream buffer that writes to an open file, which it does not close.
class descriptor_buffer : public std::streambuf {
 public:
  explicit descriptor_buffer(int file) : file_(file) { clear(); }

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
    for (const char* next = pbase(); next < pptr();) {
      const ssize_t count = write(file_, next, static_cast<std::size_t>(pptr() - next));
      if (count < 0 && errno != EINTR) {
        return -1;
      }
      next += count < 0 ? 0 : count;
    }
    clear();
    return 0;
  }

 private:
  void clear() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  int file_;
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
        buffer_(part_.descriptor()),
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
  descriptor_buffer buffer_;
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
