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

/// What a program that predicts has to know of a network and its file cannot say otherwise. It is
/// kept among the file's metadata, as texts of these keys; what is left out is not written.
struct model_info {
  std::vector<std::string> classes{};  ///< "classes": a line for each output
  std::array<float, 3> mean{0, 0, 0};  ///< "mean": of red, green and blue in [0, 1], by spaces
  std::array<float, 3> std{1, 1, 1};   ///< "std": what (pixel - mean) is divided by
  bool crop = false;  ///< "fit": "crop", the shorter side to its extent and the middle of the
                      ///< longer one; else "stretch", both on their own
  std::optional<unsigned long long> seed{};  ///< "seed": of the training
  std::optional<double> accuracy{};          ///< "accuracy": in [0, 1], of what was held out
  std::string description{};                 ///< "description"

  /// As a file's metadata. Throws `value_error` for names of classes with line breaks.
  [[nodiscard]] std::map<std::string, std::string> to_metadata() const {
    std::map<std::string, std::string> all;
    for (const std::string& name : classes) {
      require<value_error>(name.find('\n') == std::string::npos, "model_info: the class '", name,
                           "' has a line break in its name");
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

  /// Of a file's metadata, in which other keys may stand. Throws `data_error` for what these keys
  /// cannot mean.
  [[nodiscard]] static model_info from_metadata(const std::map<std::string, std::string>& all) {
    model_info made;
    const auto value = [&](const std::string& key) {
      const auto found = all.find(key);
      return found == all.end() ? std::string() : found->second;
    };
    std::istringstream lines(value("classes"));
    for (std::string line; std::getline(lines, line);) {
      made.classes.push_back(line);
    }
    made.mean = colours(value("mean"), "mean", made.mean);
    made.std = colours(value("std"), "std", made.std);
    for (const float one : made.std) {
      require<data_error>(one > 0, "metadata 'std' is '", value("std"),
                          "'; expected numbers above 0");
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
  /// All digits that tell it from its neighbours.
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
    require<data_error>(read.ec == std::errc{} && read.ptr == of.data() + of.size(), "metadata '",
                        key, "' is '", of, "'; expected a number");
    return made;
  }
  [[nodiscard]] static std::array<float, 3> colours(const std::string& of, std::string_view key,
                                                    std::array<float, 3> made) {
    if (of.empty()) {
      return made;
    }
    std::istringstream words(of);
    words.imbue(std::locale::classic());
    std::string more;
    require<data_error>(static_cast<bool>(words >> made[0] >> made[1] >> made[2]) &&
                            !(words >> more) && std::isfinite(made[0] + made[1] + made[2]),
                        "metadata '", key, "' is '", of, "'; expected three numbers");
    return made;
  }
};

}  // namespace glia
