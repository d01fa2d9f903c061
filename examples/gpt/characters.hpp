#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/data/data.hpp>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A text whose tokens are its characters (bytes), numbered in the order of their codes.
class character_text {
 public:
  /// Reads a file, or all .md and .txt files of a folder and its folders, sorted by path. Uses the
  /// first `limit` characters, or all if it is 0.
  character_text(const std::filesystem::path& path, std::size_t limit) : path_(path.string()) {
    std::vector<std::filesystem::path> files{path};
    if (std::filesystem::is_directory(path)) {
      files.clear();
      for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        const std::string extension = entry.path().extension().string();
        if (entry.is_regular_file() && (extension == ".md" || extension == ".txt")) {
          files.push_back(entry.path());
        }
      }
      std::sort(files.begin(), files.end());
    }
    for (const auto& file : files) {
      std::ifstream in(file, std::ios::binary);
      glia::require<glia::data_error>(in.is_open(), file.string(),
                                      ": cannot be opened for reading");
      text_.append(std::istreambuf_iterator<char>(in), {});
    }
    text_.resize(limit == 0 ? text_.size() : std::min(limit, text_.size()));
    characters_ = text_;
    std::sort(characters_.begin(), characters_.end());
    characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
  }

  [[nodiscard]] std::size_t size() const { return text_.size(); }
  /// The number of different characters.
  [[nodiscard]] std::size_t symbols() const { return characters_.size(); }
  [[nodiscard]] char character(std::int32_t token) const {
    return characters_.at(static_cast<std::size_t>(token));
  }
  /// Returns the tokens of a text. Throws `data_error` for a character that the text does not have.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view prompt) const {
    std::vector<std::int32_t> tokens;
    for (const char c : prompt) {
      const auto found = std::lower_bound(characters_.begin(), characters_.end(), c);
      glia::require<glia::data_error>(found != characters_.end() && *found == c, "the prompt has '",
                                      c, "', which does not occur in ", path_);
      tokens.push_back(static_cast<std::int32_t>(found - characters_.begin()));
    }
    return tokens;
  }

  /// Returns sequences of `steps` tokens (N, T), with the next token of each step as targets: those
  /// of the beginning of the text, and those of its end, which has the share `validation`.
  [[nodiscard]] std::pair<glia::target_arrays, glia::target_arrays> windows(
      std::size_t steps, double validation) const {
    const std::size_t all = text_.empty() ? 0 : (text_.size() - 1) / steps;
    const auto held_out = static_cast<std::size_t>(static_cast<double>(all) * validation);
    glia::require<glia::data_error>(held_out > 0, path_, ": expected a longer text, for at least ",
                                    static_cast<std::size_t>(1 / validation), " sequences of ",
                                    steps, " characters, got ", text_.size(), " characters");
    const std::vector<std::int32_t> tokens = encode(text_);
    const auto part = [&](std::size_t first, std::size_t count) {
      xt::xarray<float> inputs = xt::zeros<float>({count, steps});
      xt::xarray<float> targets = inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs.flat(i) = static_cast<float>(tokens[first * steps + i]);
        targets.flat(i) = static_cast<float>(tokens[first * steps + i + 1]);
      }
      return glia::target_arrays{inputs, targets};
    };
    return {part(0, all - held_out), part(all - held_out, held_out)};
  }

 private:
  std::string path_;
  std::string text_;
  std::string characters_;
};
