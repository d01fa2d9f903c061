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

/// Returns n if a name (without its suffix) ends in -of-n, and 0 for other names.
[[nodiscard]] inline std::size_t announced_shards(std::string_view name) {
  const std::size_t position = name.rfind("-of-");
  std::size_t count = 0;
  if (position != std::string_view::npos) {
    name.remove_prefix(position + 4);
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), count);
    count = failure == std::errc() && end == name.data() + name.size() ? count : 0;
  }
  return count;
}

}  // namespace detail

/// Returns the files of a data set that is divided into several files: all files whose paths begin
/// with `beginning` and end with `suffix`, sorted by name.
///
///     glia::sharded_files("flowers/train")   // flowers/train-00000-of-00004.tfrecord, ...
///     glia::sharded_files("flowers/", ".tfrec")   // flowers/flowers00-230.tfrec, ...
///
/// Throws `data_error`, with the name of the folder, if there are no such files or the folder
/// cannot be read. Also throws if a name ends in -of-n and the number of files is not n: then some
/// files are missing, or two data sets are mixed.
[[nodiscard]] inline std::vector<std::filesystem::path> sharded_files(
    const std::filesystem::path& beginning, std::string_view suffix = ".tfrecord") {
  const std::filesystem::path folder = beginning.has_parent_path() ? beginning.parent_path() : ".";
  const std::string name = beginning.filename().string();
  std::error_code failure;
  std::vector<std::filesystem::path> files;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    const std::string found = entry->path().filename().string();
    std::error_code ignored;
    if (found.size() >= name.size() + suffix.size() && found.starts_with(name) &&
        found.ends_with(suffix) && !entry->is_directory(ignored)) {
      files.push_back(entry->path());
    }
  }
  require<data_error>(!failure, folder.string(), ": the folder cannot be read (", failure.message(),
                      ")");
  require<data_error>(!files.empty(), folder.string(), ": expected files ", name, "*", suffix,
                      ", found none");
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    const std::string stem = file.filename().string();
    const std::size_t count =
        detail::announced_shards(std::string_view(stem).substr(0, stem.size() - suffix.size()));
    require<data_error>(count == 0 || count == files.size(), file.string(), ": expected ", count,
                        " files, by this file's name, but there are ", files.size(), " files ",
                        name, "*", suffix, "; some are missing or belong to another data set");
  }
  return files;
}

}  // namespace glia
