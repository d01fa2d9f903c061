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
    std::map<std::string, std::string> all;
    for (const std::string& name : class_names) {
      require<value_error>(name.find('\n') == std::string::npos, "model_info: the class name '",
                           name, "' contains a line break; expected names of one line");
      all["classes"] += name + '\n';
    }
    if (mean != model_info{}.mean || std != model_info{}.std) {
      all["mean"] = exact(mean[0]) + ' ' + exact(mean[1]) + ' ' + exact(mean[2]);
      all["std"] = exact(std[0]) + ' ' + exact(std[1]) + ' ' + exact(std[2]);
    }
    if (crop) {
      all["fit"] = "crop";
    }
    if (seed) {
      all["seed"] = std::to_string(*seed);
    }
    if (accuracy) {
      all["accuracy"] = exact(*accuracy);
    }
    if (!description.empty()) {
      all["description"] = description;
    }
    return all;
  }

  /// Reads the members from a file's metadata, and ignores other keys. Throws `data_error` if a
  /// value has the wrong format.
  [[nodiscard]] static model_info from_metadata(const std::map<std::string, std::string>& all) {
    model_info made;
    const auto value = [&](const std::string& key) {
      const auto found = all.find(key);
      return found == all.end() ? std::string() : found->second;
    };
    std::istringstream lines(value("classes"));
    for (std::string line; std::getline(lines, line);) {
      made.class_names.push_back(line);
    }
    made.mean = colors(value("mean"), "mean", made.mean);
    made.std = colors(value("std"), "std", made.std);
    for (const float one : made.std) {
      require<data_error>(one > 0, "the metadata value of 'std' is '", value("std"),
                          "'; expected three numbers above 0");
    }
    made.crop = value("fit") == "crop";
    made.description = value("description");
    if (const std::string seed = value("seed"); !seed.empty()) {
      made.seed = number<unsigned long long>(seed, "seed");
    }
    if (const std::string accuracy = value("accuracy"); !accuracy.empty()) {
      made.accuracy = number<double>(accuracy, "accuracy");
    }
    return made;
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
  [[nodiscard]] static Number number(std::string_view of, std::string_view key) {
    Number made{};
    const auto read = [&] {
      if constexpr (std::floating_point<Number>) {
        return detail::parse_number(of.data(), of.data() + of.size(), made);
      } else {
        return std::from_chars(of.data(), of.data() + of.size(), made);
      }
    }();
    require<data_error>(read.ec == std::errc{} && read.ptr == of.data() + of.size(),
                        "the metadata value of '", key, "' is '", of, "'; expected a number");
    return made;
  }
  [[nodiscard]] static std::array<float, 3> colors(const std::string& of, std::string_view key,
                                                   std::array<float, 3> made) {
    if (of.empty()) {
      return made;
    }
    std::istringstream words(of);
    words.imbue(std::locale::classic());
    std::string more;
    require<data_error>(static_cast<bool>(words >> made[0] >> made[1] >> made[2]) &&
                            !(words >> more) && std::isfinite(made[0] + made[1] + made[2]),
                        "the metadata value of '", key, "' is '", of, "'; expected three numbers");
    return made;
  }
};

}  // namespace glia
