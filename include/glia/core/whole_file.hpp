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

/// Where symbolic links lead from a path, whether there is such a file yet or not.
[[nodiscard]] inline std::filesystem::path followed(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // as Linux
  std::filesystem::path target = path;
  for (int links = 0; links < most_links; ++links) {
    std::error_code failure;
    const std::filesystem::path next = std::filesystem::read_symlink(target, failure);
    if (failure) {  // no link: also where nothing is
      return target;
    }
    target = target.parent_path() / next;
  }
  throw data_error(text(path.string(), ": its symbolic links lead in a circle"));
}

/// A new, empty file beside another one, which it may take the place of. Nothing else has its name,
/// in this program or another; it goes with the object.
class part_file {
 public:
  /// `name` is what errors call the target. Throws `data_error` where the file cannot be made.
  part_file(const std::filesystem::path& target, std::string name) : name_(std::move(name)) {
    struct stat old {};
    replaces_ = stat(target.c_str(), &old) == 0;
    mode_ = replaces_ ? old.st_mode & 0777U : 0666U;
    // Programs of other machines, or in containers, may have the same number, and one that was
    // ended may have left its files: then the next name is tried.
    static std::atomic<std::uint64_t> made{0};
    do {
      path_ = target.parent_path() /
              text(part_name, getpid(), '-', made.fetch_add(1, std::memory_order_relaxed));
      file_ =
          open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_ | S_IRUSR | S_IWUSR);
    } while (file_ < 0 ? errno == EEXIST : !is_held());
    require<data_error>(file_ >= 0, name_, ": cannot be written (", reason(),
                        "); is there such a folder, and the right to write to it?");
  }
  part_file(const part_file&) = delete;
  part_file& operator=(const part_file&) = delete;
  ~part_file() {
    close(file_);
    if (!replaced_) {
      unlink(path_.c_str());
    }
  }

  /// The open file, for writing. It is locked: SMB shares refuse writes by another descriptor.
  [[nodiscard]] int descriptor() const { return file_; }

  /// Removes the part files of a folder that programs which have ended left half written. A file
  /// that cannot be locked stays, since another program may be writing it: so on file systems
  /// without locks all stay. The lock is a shared one, which NFS grants for reading as well.
  static void remove_abandoned(const std::filesystem::path& folder) {
    std::error_code failure;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
      if (!entry.path().filename().string().starts_with(part_name)) {
        continue;
      }
      const int file = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
      if (file >= 0 && flock(file, LOCK_SH | LOCK_NB) == 0) {
        unlink(entry.path().c_str());
      }
      if (file >= 0) {
        close(file);
      }
    }
  }

  /// Gives the file the target's name and rights, once its bytes are on the disk: else a loss of
  /// power could leave the new name without them.
  void replace(const std::filesystem::path& target) {
    if (replaces_) {
      // Where the file system has no such rights, there are none to keep.
      [[maybe_unused]] const int ignored = fchmod(file_, mode_);
    }
    const bool kept = fsync(file_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
    require<data_error>(kept, name_, ": writing failed (", reason(), ")");
    require<data_error>(std::rename(path_.c_str(), target.c_str()) == 0, name_,
                        ": cannot be replaced (", reason(), ")");
    replaced_ = true;
    // The file is whole whichever name it has after a loss of power; a folder that may not be
    // opened, or not be kept, is no error.
    const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
    const int names = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (names >= 0) {
      fsync(names);
      close(names);
    }
  }

 private:
  static constexpr const char* part_name = ".glia-part-";

  /// Locks the file so that other programs see that it is being written. Returns false, with the
  /// file closed, if another program removed it before the lock was taken. On file systems without
  /// locks it returns true.
  [[nodiscard]] bool is_held() {
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat now {};
    if (fstat(file_, &now) == 0 && now.st_nlink == 0) {
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

/// Writes what a stream is given to an open file, which stays open.
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

/// A file that is being written; see `write_whole_file`. It gets its name by `close`, and goes with
/// the object where that is not called.
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
    require<data_error>(out_.good(), name_, ": writing failed; is the disk full?");
    part_.replace(target_);
  }

 private:
  /// What is to be replaced.
  [[nodiscard]] static std::filesystem::path replaceable(const std::filesystem::path& path) {
    std::filesystem::path target = followed(path);
    std::error_code ignored;
    const std::filesystem::file_status there = std::filesystem::status(target, ignored);
    require<data_error>(!std::filesystem::is_directory(there), path.string(),
                        ": is a folder; expected a file");
    require<data_error>(!std::filesystem::exists(there) || std::filesystem::is_regular_file(there),
                        path.string(), ": is no file that can be replaced, but a device or a pipe");
    return target;
  }

  std::string name_;
  std::filesystem::path target_;
  part_file part_;
  descriptor_buffer buffer_;
  std::ostream out_;
};

}  // namespace detail

/// Writes a file by `write(stream)`, under a name of its own in the same folder (.glia-part-...),
/// and renames it when it is whole and on the disk: an interruption leaves the old file or none,
/// never a half-written one of that name. Of several writers of one path, threads or programs, each
/// succeeds, and the last one's file stays. Symbolic links stay, and what they lead to is replaced;
/// a file that is replaced hands on its rights. The stream writes numbers in the same way whatever
/// the program's locale.
///
/// Throws `data_error`, naming the path, where that fails; what `write` throws is passed on.
template <class Write>
void write_whole_file(const std::filesystem::path& path, const Write& write) {
  detail::whole_file file(path);
  write(file.stream());
  file.close();
}

}  // namespace glia
