#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <locale>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/parse_number.hpp"

namespace glia {

/// Properties of a network that an application needs, but for which ONNX has no fields. They are
/// stored in the file's metadata, as texts under the keys below. Empty members and defaults are not
/// written.
struct model_info {
  std::vector<std::string> class_names{};  ///< Key "classes": one line for each output.
  std::array<float, 3> mean{0, 0, 0};      ///< Key "mean": subtracted from RGB values in [0, 1].
  std::array<float, 3> std{1, 1, 1};       ///< Key "std": divisor of (pixel - mean), above 0.
  /// Key "fit": true ("crop") scales the shorter side and crops the longer one around its center;
  /// false ("stretch") scales both sides.
  bool crop = false;
  std::optional<unsigned long long> seed{};  ///< Key "seed": seed of the training.
  std::optional<double> accuracy{};  ///< Key "accuracy": accuracy on held-out samples, in [0, 1].
  std::string description{};         ///< Key "description": free text.

  /// Returns the members as metadata of a file. Throws `value_error` if a class name contains a
  /// line break.
  [[nodiscard]] std::map<std::string, std::string> to_metadata() const {
    std::map<std::string, std::string> metadata;
    for (const std::string& name : class_names) {
      require<value_error>(name.find('\n') == std::string::npos, "model_info: the class name '",
                           name, "' contains a line break; expected names of one line");
      metadata["classes"] += name + '\n';
    }
    if (mean != model_info{}.mean || std != model_info{}.std) {
      metadata["mean"] = exact(mean[0]) + ' ' + exact(mean[1]) + ' ' + exact(mean[2]);
      metadata["std"] = exact(std[0]) + ' ' + exact(std[1]) + ' ' + exact(std[2]);
    }
    if (crop) {
      metadata["fit"] = "crop";
    }
    if (seed) {
      metadata["seed"] = std::to_string(*seed);
    }
    if (accuracy) {
      metadata["accuracy"] = exact(*accuracy);
    }
    if (!description.empty()) {
      metadata["description"] = description;
    }
    return metadata;
  }

  /// Reads the members from a file's metadata, and ignores other keys. Throws `data_error` if a
  /// value has the wrong format.
  [[nodiscard]] static model_info from_metadata(
      const std::map<std::string, std::string>& metadata) {
    model_info result;
    const auto value = [&](const std::string& key) {
      const auto found = metadata.find(key);
      return found == metadata.end() ? std::string() : found->second;
    };
    std::istringstream lines(value("classes"));
    for (std::string line; std::getline(lines, line);) {
      result.class_names.push_back(line);
    }
    result.mean = colors(value("mean"), "mean", result.mean);
    result.std = colors(value("std"), "std", result.std);
    for (const float divisor : result.std) {
      require<data_error>(divisor > 0, "the metadata value of 'std' is '", value("std"),
                          "'; expected three numbers above 0");
    }
    result.crop = value("fit") == "crop";
    result.description = value("description");
    if (const std::string seed = value("seed"); !seed.empty()) {
      result.seed = number<unsigned long long>(seed, "seed");
    }
    if (const std::string accuracy = value("accuracy"); !accuracy.empty()) {
      result.accuracy = number<double>(accuracy, "accuracy");
    }
    return result;
  }

  friend bool operator==(const model_info&, const model_info&) = default;

 private:
  /// Writes a number with enough digits to read it back exactly.
  template <class Number>
  [[nodiscard]] static std::string exact(Number x) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), x).ptr};
  }
  template <class Number>
  [[nodiscard]] static Number number(std::string_view value, std::string_view key) {
    Number result{};
    const auto read = [&] {
      if constexpr (std::floating_point<Number>) {
        return detail::parse_number(value.data(), value.data() + value.size(), result);
      } else {
        return std::from_chars(value.data(), value.data() + value.size(), result);
      }
    }();
    require<data_error>(read.ec == std::errc{} && read.ptr == value.data() + value.size(),
                        "the metadata value of '", key, "' is '", value, "'; expected a number");
    return result;
  }
  [[nodiscard]] static std::array<float, 3> colors(const std::string& value, std::string_view key,
                                                   std::array<float, 3> result) {
    if (value.empty()) {
      return result;
    }
    std::istringstream words(value);
    words.imbue(std::locale::classic());
    std::string rest;
    require<data_error>(static_cast<bool>(words >> result[0] >> result[1] >> result[2]) &&
                            !(words >> rest) && std::isfinite(result[0] + result[1] + result[2]),
                        "the metadata value of '", key, "' is '", value,
                        "'; expected three numbers");
    return result;
  }
};

}  // namespace glia
