#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/checksum.hpp"
#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"

namespace glia {

/// Returns the default folder of the cache of compiled graphs: $XDG_CACHE_HOME/glia/programs, or
/// ~/.cache/glia/programs if XDG_CACHE_HOME is not set. Empty if there is no home folder.
[[nodiscard]] inline std::filesystem::path default_program_cache() {
  const auto folder = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (const auto cache = folder("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "glia" / "programs";
  }
  const auto home = folder("HOME");
  return home.is_absolute() ? home / ".cache" / "glia" / "programs" : std::filesystem::path();
}

/// Options of the cache of compiled graphs.
struct program_cache_options {
  /// Folder of the files; empty: no cache.
  std::filesystem::path folder = default_program_cache();
  /// Largest total size of the files, in bytes; default: 1 GiB. The least recently used files are
  /// removed first.
  std::uint64_t max_bytes = std::uint64_t{1} << 30U;
};

namespace detail {

/// A cache of compiled graphs in a folder, with one file for each. The key contains everything that
/// the compilation depends on.
///
/// A damaged file counts as missing, and a folder that cannot be written is no error: the graph is
/// compiled again. Any number of processes may use one folder at the same time. Whoever can write
/// to the folder can decide what code runs, so a new folder is accessible only to its owner.
class program_cache {
 public:
  explicit program_cache(program_cache_options options) : options_(std::move(options)) {}

  /// Returns the compiled graph stored under `key`, if there is one.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const {
    if (options_.folder.empty()) {
      return std::nullopt;
    }
    const std::filesystem::path path = path_of(key);
    std::string bytes;
    try {
      std::ifstream file(path, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(file), {});
    } catch (const std::ios_base::failure&) {  // for example, if another machine has just removed
                                               // the file
      return std::nullopt;
    }
    const std::optional<std::string_view> program = content_of(bytes, key);
    if (!program) {
      return std::nullopt;
    }
    std::error_code ignored;  // the folder may be read-only
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
    return std::string(*program);
  }

  /// Stores a compiled graph under `key`. Does nothing if the folder cannot be written or the graph
  /// is larger than the limit.
  void keep(std::string_view key, std::string_view program) const {
    if (options_.folder.empty() || key.size() + program.size() > options_.max_bytes) {
      return;
    }
    try {
      make_folder();
      write_whole_file(path_of(key), [&](std::ostream& out) {
        const header h = header_of(key, program);
        out.write(reinterpret_cast<const char*>(&h), sizeof(h));
        out << key << program;
      });
      make_room();
    } catch (const data_error&) {  // for example, if the disk is full
    } catch (const std::filesystem::filesystem_error&) {
    }
  }

 private:
  static constexpr const char* extension = ".glia-program";

  struct header {
    char magic[8] = {'g', 'l', 'i', 'a', 'p', 'r', 'g', '1'};
    std::uint64_t key_size = 0;
    std::uint64_t program_size = 0;
    std::uint64_t sum = 0;

    friend bool operator==(const header&, const header&) = default;
  };

  [[nodiscard]] static header header_of(std::string_view key, std::string_view program) {
    checksum sum;
    sum.add(key);
    sum.add(program);
    header result;
    result.key_size = key.size();
    result.program_size = program.size();
    result.sum = sum.value();
    return result;
  }

  /// Returns the compiled graph in the bytes of a file, if the file is complete and has this key.
  [[nodiscard]] static std::optional<std::string_view> content_of(std::string_view bytes,
                                                                  std::string_view key) {
    header h;
    if (bytes.size() < sizeof(h) + key.size()) {
      return std::nullopt;
    }
    std::memcpy(&h, bytes.data(), sizeof(h));
    bytes.remove_prefix(sizeof(h));
    const std::string_view program = bytes.substr(key.size());
    const bool right = bytes.substr(0, key.size()) == key && h == header_of(key, program);
    return right ? std::optional(program) : std::nullopt;
  }

  [[nodiscard]] std::filesystem::path path_of(std::string_view key) const {
    checksum sum;
    sum.add(key);
    std::ostringstream name;
    name << std::hex << sum.value() << extension;
    return options_.folder / name.str();
  }

  void make_folder() const {
    if (!std::filesystem::exists(options_.folder)) {
      std::filesystem::create_directories(options_.folder);
      std::filesystem::permissions(options_.folder, std::filesystem::perms::owner_all);
    }
  }

  /// Removes the least recently used files until the rest is within the limit.
  void make_room() const {
    struct entry {
      std::filesystem::path path;
      std::filesystem::file_time_type used;
      std::uint64_t bytes;
    };
    std::vector<entry> entries;
    std::uint64_t total_bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(options_.folder)) {
      std::error_code gone;  // set if another process has removed the file
      const auto used = file.last_write_time(gone);
      const std::uint64_t bytes = gone ? 0 : file.file_size(gone);
      if (!gone && file.path().extension() == extension) {
        entries.push_back({file.path(), used, bytes});
        total_bytes += bytes;
      }
    }
    std::sort(entries.begin(), entries.end(),
              [](const entry& a, const entry& b) { return a.used < b.used; });
    for (const entry& oldest : entries) {
      if (total_bytes <= options_.max_bytes) {
        break;
      }
      std::error_code gone;
      std::filesystem::remove(oldest.path, gone);
      total_bytes -= oldest.bytes;
    }
  }

  program_cache_options options_;
};

}  // namespace detail

}  // namespace glia
