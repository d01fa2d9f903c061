#pragma once

// The checkpoints in a folder: their names, their order, and which of them are kept.

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"

namespace glia::detail {

inline constexpr std::string_view checkpoint_prefix = "step-";
inline constexpr std::string_view checkpoint_suffix = ".safetensors";
/// The file name of the best epoch's checkpoint.
inline constexpr const char* best_checkpoint = "best.safetensors";

/// Returns the file name of the checkpoint of a step: step-000001200.safetensors.
[[nodiscard]] inline std::string checkpoint_name(std::uint64_t step) {
  const std::string digits = std::to_string(step);
  constexpr std::size_t width = 9;
  return std::string(checkpoint_prefix) + std::string(width - std::min(width, digits.size()), '0') +
         digits + std::string(checkpoint_suffix);
}

/// Returns the step of a checkpoint; `std::nullopt` if the file is not named like a checkpoint.
[[nodiscard]] inline std::optional<std::uint64_t> checkpoint_step(
    const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  std::uint64_t step = 0;
  if (!name.starts_with(checkpoint_prefix) || !name.ends_with(checkpoint_suffix)) {
    return std::nullopt;
  }
  const auto [end, failure] =
      std::from_chars(name.data() + checkpoint_prefix.size(),
                      name.data() + name.size() - checkpoint_suffix.size(), step);
  return failure == std::errc() && name == checkpoint_name(step) ? std::optional(step)
                                                                 : std::nullopt;
}

/// Returns the checkpoints in a folder, the newest first. Empty if the folder does not exist.
[[nodiscard]] inline std::vector<std::filesystem::path> checkpoints_newest_first(
    const std::filesystem::path& folder) {
  std::vector<std::pair<std::uint64_t, std::filesystem::path>> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    if (const auto step = checkpoint_step(entry.path())) {
      found.emplace_back(*step, entry.path());
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::filesystem::path> result;
  result.reserve(found.size());
  for (auto& [step, path] : found) {
    result.push_back(std::move(path));
  }
  return result;
}

/// Removes the checkpoints of steps after `step`.
inline void remove_later_checkpoints(const std::filesystem::path& folder, std::uint64_t step) {
  for (const std::filesystem::path& file : checkpoints_newest_first(folder)) {
    if (checkpoint_step(file) > step) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  }
}

/// Removes the checkpoints of steps up to `step`, except the newest `count` of them.
inline void remove_old_checkpoints(const std::filesystem::path& folder, std::uint64_t step,
                                   std::size_t count) {
  std::size_t counted = 0;
  for (const std::filesystem::path& file : checkpoints_newest_first(folder)) {
    if (checkpoint_step(file) <= step && ++counted > count) {
      std::error_code ignored;
      std::filesystem::remove(file, ignored);
    }
  }
}

/// Gives a checkpoint the second name `best_checkpoint`. Replaces a file that already has this
/// name. Throws `data_error` if this is not possible.
inline void mark_best_checkpoint(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  const std::filesystem::path best = folder / best_checkpoint;
  const std::filesystem::path between = folder / ".glia-best";
  std::error_code failure;
  std::filesystem::remove(between, failure);
  std::filesystem::create_hard_link(file, between, failure);
  if (failure) {  // for example on file systems without hard links
    std::filesystem::copy_file(file, between, failure);
  }
  require<data_error>(!failure, best.string(), ": cannot be written (", failure.message(), ")");
  std::filesystem::rename(between, best, failure);
  require<data_error>(!failure, best.string(), ": cannot be replaced (", failure.message(), ")");
}

}  // namespace glia::detail
