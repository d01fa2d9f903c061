#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/random.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/text/sample_token.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Names as numbers: 0 begins and ends each, 1 and up are the characters that occur.
class names_text {
 public:
  /// Reads a file with one name in each line; lines of spaces are skipped.
  explicit names_text(const std::string& path) {
    std::ifstream file(path);
    glia::require<glia::data_error>(file.is_open(), path, ": cannot be opened for reading");
    for (std::string line; std::getline(file, line);) {
      line.erase(line.find_last_not_of(" \t\r") + 1);
      if (!line.empty()) {
        names_.push_back(line);
        longest_ = std::max(longest_, line.size());
      }
    }
    glia::require<glia::data_error>(names_.size() > 1, path,
                                    ": expected names, one in each line, got ", names_.size());
    for (const std::string& name : names_) {
      for (const char c : name) {
        if (characters_.find(c) == std::string::npos) {
          characters_ += c;
        }
      }
    }
    std::sort(characters_.begin(), characters_.end());
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t symbols() const { return characters_.size() + 1; }
  /// Steps of a sequence: all characters of the longest name, and the end.
  [[nodiscard]] std::size_t steps() const { return longest_ + 1; }

  [[nodiscard]] bool holds(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }
  [[nodiscard]] char character(std::size_t symbol) const { return characters_[symbol - 1]; }

  /// What is read (N, T): the beginning, then each name's characters.
  [[nodiscard]] xt::xarray<float> read() const { return numbers(1, 0); }
  /// What is to be said at each step (N, T): the character that comes next, then the end, and
  /// nothing behind that.
  [[nodiscard]] xt::xarray<float> said() const { return numbers(0, -1); }

 private:
  [[nodiscard]] xt::xarray<float> numbers(std::size_t first, float padding) const {
    xt::xarray<float> result = xt::ones<float>({names_.size(), steps()}) * padding;
    for (std::size_t n = 0; n < names_.size(); ++n) {
      for (std::size_t i = 0; i < names_[n].size() && first + i < steps(); ++i) {
        result(n, first + i) = static_cast<float>(characters_.find(names_[n][i]) + 1);
      }
      result(n, first == 0 ? names_[n].size() : 0) = 0;
    }
    return result;
  }

  std::vector<std::string> names_;
  std::string characters_;
  std::size_t longest_ = 0;
};

/// Writes names with a model of what comes next: a symbol after the other is drawn with the
/// probabilities softmax(logits / temperature).
template <class Model>
[[nodiscard]] std::vector<std::string> write_names(const Model& net, const names_text& text,
                                                   std::size_t count, double temperature,
                                                   std::uint64_t seed) {
  const std::size_t steps = text.steps();
  xt::xarray<float> read = xt::zeros<float>({count, steps});
  std::vector<std::string> written(count);
  std::vector<bool> ended(count);
  glia::random_stream random({.seed = seed});
  for (std::size_t t = 0; t + 1 < steps; ++t) {
    const xt::xarray<float> logits = net.predict(read);
    for (std::size_t n = 0; n < count; ++n) {
      const std::span row(logits.data() + (n * steps + t) * text.symbols(), text.symbols());
      const auto symbol =
          static_cast<std::size_t>(glia::sample_token(row, {.temperature = temperature}, random));
      ended[n] = ended[n] || symbol == 0;
      if (!ended[n]) {
        written[n] += text.character(symbol);
        read(n, t + 1) = static_cast<float>(symbol);
      }
    }
  }
  return written;
}
