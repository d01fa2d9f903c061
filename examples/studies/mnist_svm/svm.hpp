#pragma once

#include <svm.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <glia/core/error.hpp>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "digits.hpp"

/// The kernel's gamma by its name, as scikit-learn has them: "auto" is 1 / features, "scale"
/// 1 / (features * variance of all pixels that are trained with); or a number.
inline double gamma_of(const std::string& name, const digits& data,
                       std::span<const std::size_t> rows) {
  const auto features = static_cast<double>(data.width);
  if (name == "auto") {
    return 1 / features;
  }
  if (name == "scale") {
    double sum = 0;
    double squares = 0;
    for (const std::size_t row : rows) {
      for (const double pixel : data.row(row)) {
        sum += pixel;
        squares += pixel * pixel;
      }
    }
    const double count = features * static_cast<double>(rows.size());
    const double variance = squares / count - sum / count * (sum / count);
    return 1 / (features * variance);
  }
  double gamma = 0;
  const char* const end = name.data() + name.size();
  const auto [position, failure] = std::from_chars(name.data(), end, gamma);
  glia::require<glia::value_error>(failure == std::errc() && position == end && gamma > 0,
                                   "expected --gamma auto, scale or a positive number, got '", name,
                                   "'");
  return gamma;
}

/// C-SVC with a kernel of radial basis functions, exp(-gamma |x - z|^2), one against one, by LIBSVM
/// (Chang and Lin, ACM Transactions on Intelligent Systems and Technology 2, 2011). C, tolerance,
/// shrinking and the kernel cache are scikit-learn's defaults.
class digit_svm {
 public:
  digit_svm(const digits& data, std::span<const std::size_t> rows, double gamma) {
    std::vector<double> labels;
    std::vector<svm_node*> starts;
    for (const std::size_t row : rows) {
      nodes_.push_back(nodes_of(data.row(row)));
      starts.push_back(nodes_.back().data());
      labels.push_back(data.labels[row]);
    }
    const svm_problem problem{static_cast<int>(rows.size()), labels.data(), starts.data()};
    svm_parameter settings{};
    settings.svm_type = C_SVC;
    settings.kernel_type = RBF;
    settings.gamma = gamma;
    settings.C = 1;
    settings.eps = 1e-3;
    settings.shrinking = 1;
    settings.cache_size = 200;  // MB
    svm_set_print_string_function([](const char*) {});
    const char* const reason = svm_check_parameter(&problem, &settings);
    glia::require<glia::value_error>(reason == nullptr,
                                     "LIBSVM: ", reason == nullptr ? "" : reason);
    model_.reset(svm_train(&problem, &settings));
  }

  [[nodiscard]] int support_vectors() const { return svm_get_nr_sv(model_.get()); }

  [[nodiscard]] std::uint8_t predict(std::span<const std::uint8_t> pixels) const {
    return static_cast<std::uint8_t>(svm_predict(model_.get(), nodes_of(pixels).data()));
  }

  /// The share of rows that are taken for what they are.
  [[nodiscard]] double accuracy(const digits& data, std::span<const std::size_t> rows) const {
    const auto right = std::count_if(rows.begin(), rows.end(), [&](std::size_t row) {
      return predict(data.row(row)) == data.labels[row];
    });
    return static_cast<double>(right) / static_cast<double>(rows.size());
  }

 private:
  struct destroy {
    void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
  };

  /// The pixels that are not 0, counted from 1, and the end.
  static std::vector<svm_node> nodes_of(std::span<const std::uint8_t> pixels) {
    std::vector<svm_node> nodes;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      if (pixels[i] != 0) {
        nodes.push_back({static_cast<int>(i) + 1, static_cast<double>(pixels[i])});
      }
    }
    nodes.push_back({-1, 0});
    nodes.shrink_to_fit();
    return nodes;
  }

  std::vector<std::vector<svm_node>> nodes_;  // the model refers to them
  std::unique_ptr<svm_model, destroy> model_;
};
