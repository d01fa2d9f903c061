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

/// $XDG_CACHE_HOME/glia/programs, or the same in ~/.cache; empty where there is no home.
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

struct program_cache_options {
  std::filesystem::path folder = default_program_cache();  ///< empty: nothing is kept
  /// What all kept programs may take. Those that were not used for longest go first.
  std::uint64_t most_bytes = std::uint64_t{1} << 30U;
};

/// Compiled programs in a folder, a file for each, found by all that they were made of. A file that
/// is damaged is as good as none, and a folder that cannot be written to is no error: programs are
/// then compiled again. Any number of programs may use a folder at once.
///
/// Who can write to the folder decides what runs: it is made for its owner alone.
class program_cache {
 public:
  explicit program_cache(program_cache_options options) : options_(std::move(options)) {}

  /// The program that was kept under the key.
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const {
    if (options_.folder.empty()) {
      return std::nullopt;
    }
    const std::filesystem::path path = path_of(key);
    std::string bytes;
    try {
      std::ifstream in(path, std::ios::binary);
      bytes.assign(std::istreambuf_iterator<char>(in), {});
    } catch (const std::ios_base::failure&) {  // as where another machine has just removed it
      return std::nullopt;
    }
    const std::optional<std::string_view> program = content_of(bytes, key);
    if (!program) {
      return std::nullopt;
    }
    std::error_code ignored;  // a folder that is only read
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), ignored);
    return std::string(*program);
  }

  /// Keeps a program, if it can be kept.
  void keep(std::string_view key, std::string_view program) const {
    if (options_.folder.empty() || key.size() + program.size() > options_.most_bytes) {
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
    } catch (const data_error&) {  // as where the disk is full
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

  /// The program in a file's bytes, if they are whole and of this key.
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

  /// Takes away what was not used for longest until the rest is small enough.
  void make_room() const {
    struct entry {
      std::filesystem::path path;
      std::filesystem::file_time_type used;
      std::uint64_t bytes;
    };
    std::vector<entry> entries;
    std::uint64_t all = 0;
    for (const auto& file : std::filesystem::directory_iterator(options_.folder)) {
      std::error_code gone;  // by another program that makes room
      const auto used = file.last_write_time(gone);
      const std::uint64_t bytes = gone ? 0 : file.file_size(gone);
      if (!gone && file.path().extension() == extension) {
        entries.push_back({file.path(), used, bytes});
        all += bytes;
      }
    }
    std::sort(entries.begin(), entries.end(),
              [](const entry& a, const entry& b) { return a.used < b.used; });
    for (const entry& oldest : entries) {
      if (all <= options_.most_bytes) {
        break;
      }
      std::error_code gone;
      std::filesystem::remove(oldest.path, gone);
      all -= oldest.bytes;
    }
  }

  program_cache_options options_;
};

}  // namespace glia
