#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

namespace detail {

/// The n of a name that ends in -of-n, but for its suffix; 0 for other names.
[[nodiscard]] inline std::size_t announced_shards(std::string_view name) {
  const std::size_t at = name.rfind("-of-");
  std::size_t count = 0;
  if (at != std::string_view::npos) {
    name.remove_prefix(at + 4);
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), count);
    count = failure == std::errc() && end == name.data() + name.size() ? count : 0;
  }
  return count;
}

}  // namespace detail

/// The files that a data set is cut into, sorted by name: those of a folder that begin and end in
/// this way.
///
///     glia::sharded_files("flowers/train")   // flowers/train-00000-of-00004.tfrecord, ...
///     glia::sharded_files("flowers/", ".tfrec")   // flowers/flowers00-230.tfrec, ...
///
/// Throws `data_error`, naming the folder, where there are none, and where names end in -of-n but
/// there are not n: some are missing, or two data sets are mixed up.
[[nodiscard]] inline std::vector<std::filesystem::path> sharded_files(
    const std::filesystem::path& beginning, std::string_view suffix = ".tfrecord") {
  const std::filesystem::path folder = beginning.has_parent_path() ? beginning.parent_path() : ".";
  const std::string name = beginning.filename().string();
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator at(folder, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    const std::string found = at->path().filename().string();
    std::error_code ignored;
    if (found.size() >= name.size() + suffix.size() && found.starts_with(name) &&
        found.ends_with(suffix) && !at->is_directory(ignored)) {
      files.push_back(at->path());
    }
  }
  require<data_error>(!failure, folder.string(), ": cannot be listed (", failure.message(), ")");
  require<data_error>(!files.empty(), folder.string(), ": expected files ", name, "*", suffix,
                      ", found none");
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string stem = file.filename().string();
    const std::size_t count =
        detail::announced_shards(std::string_view(stem).substr(0, stem.size() - suffix.size()));
    require<data_error>(count == 0 || count == files.size(), file.string(), ": is one of ", count,
                        " files by its name, but there are ", files.size(), " ", name, "*", suffix,
                        "; some are missing, or of another data set");
  }
  return files;
}

}  // namespace glia
