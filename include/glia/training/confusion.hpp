#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/number_text.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/training/class_count.hpp"

namespace glia {

/// A confusion matrix: the number of samples for each pair of a true class and a predicted class.
class confusion_matrix {
 public:
  /// Makes an empty matrix. Throws `value_error` for more than 65,536 classes.
  explicit confusion_matrix(std::size_t classes) : classes_(checked(classes)) {
    counts_.resize(classes * classes);
  }

  /// Counts N samples, given the outputs (N, K) of a model and the true classes. The predicted
  /// class of a sample is its highest output. Throws `shape_error` if the outputs do not have the
  /// shape (N, K) for N true classes. Throws `data_error` if a class is not below K or if an output
  /// is NaN.
  confusion_matrix(const xt::xarray<float>& outputs, std::span<const std::int32_t> truth)
      : confusion_matrix(outputs.dimension() == 2 ? outputs.shape()[1] : 0) {
    require<shape_error>(outputs.dimension() == 2 && outputs.shape()[0] == truth.size(),
                         "confusion_matrix: expected outputs (", truth.size(), ", K) for ",
                         truth.size(), " class labels");
    for (std::size_t n = 0; n < truth.size(); ++n) {
      const float* row = outputs.data() + n * classes_;
      const auto label = static_cast<std::size_t>(truth[n]);
      require<data_error>(label < classes_, "confusion_matrix: sample ", n, " has the class ",
                          truth[n], ", but there are outputs for ", classes_,
                          classes_ == 1 ? " class; for a model with one output, make "
                                          "confusion_matrix(2) and call add for each sample"
                                        : " classes; classes count from 0");
      require<data_error>(std::none_of(row, row + classes_, [](float y) { return std::isnan(y); }),
                          "confusion_matrix: an output of sample ", n, " is not a number (NaN)");
      add(label, static_cast<std::size_t>(std::max_element(row, row + classes_) - row));
    }
  }

  /// Counts one sample. This function, and each function for a class, throws `value_error` if a
  /// class is out of range.
  void add(std::size_t truth, std::size_t prediction) { ++counts_[place(truth, prediction)]; }

  /// The number of classes.
  [[nodiscard]] std::size_t classes() const { return classes_; }
  /// The number of samples with this true class and this predicted class.
  [[nodiscard]] std::size_t count(std::size_t truth, std::size_t prediction) const {
    return counts_[place(truth, prediction)];
  }
  /// The number of samples.
  [[nodiscard]] std::size_t total() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  }

  /// The fraction of samples with a correct prediction; 0 if there are no samples.
  [[nodiscard]] double accuracy() const {
    std::size_t right = 0;
    for (std::size_t k = 0; k < classes_; ++k) {
      right += count(k, k);
    }
    return share(right, total());
  }
  /// The counts of class k, from which scores such as the F1 score follow.
  [[nodiscard]] class_count of_class(std::size_t k) const {
    class_count result{.true_positives = static_cast<double>(count(k, k))};
    for (std::size_t other = 0; other < classes_; ++other) {
      result.predictions += static_cast<double>(count(other, k));
      result.samples += static_cast<double>(count(k, other));
    }
    return result;
  }
  /// The counts of all classes, for `average`, `matthews_correlation` and `class_report`.
  [[nodiscard]] std::vector<class_count> counts() const {
    std::vector<class_count> result;
    for (std::size_t k = 0; k < classes_; ++k) {
      result.push_back(of_class(k));
    }
    return result;
  }
  /// The fraction of the samples predicted as class k that belong to class k. It is 0 if no sample
  /// is predicted as class k.
  [[nodiscard]] double precision(std::size_t k) const { return of_class(k).precision(); }
  /// The fraction of the samples of class k that are predicted as class k. It is 0 if there are no
  /// samples of class k.
  [[nodiscard]] double recall(std::size_t k) const { return of_class(k).recall(); }

  /// A text table with a row for each true class and a column for each predicted class. It also
  /// contains the recall and the precision of each class in percent. Throws `value_error` unless
  /// `names` contains one name for each class.
  [[nodiscard]] std::string table(std::span<const std::string> names) const {
    require<value_error>(names.size() == classes_, "confusion_matrix: expected ", classes_,
                         " names, got ", names.size());
    constexpr std::string_view corner = "true \\ predicted";
    std::size_t first = corner.size();
    std::size_t width = 6;
    for (const std::string& name : names) {
      first = std::max(first, name.size());
      width = std::max(width, name.size());
    }
    std::string result = padded(std::string(corner), first, false);
    for (const std::string& name : names) {
      result += "  " + padded(name, width);
    }
    result += "  recall %\n";
    for (std::size_t truth = 0; truth < classes_; ++truth) {
      result += padded(names[truth], first, false);
      for (std::size_t k = 0; k < classes_; ++k) {
        result += "  " + padded(std::to_string(count(truth, k)), width);
      }
      result += "  " + padded(percent(recall(truth)), 8) + '\n';
    }
    result += padded("precision %", first, false);
    for (std::size_t k = 0; k < classes_; ++k) {
      result += "  " + padded(percent(precision(k)), width);
    }
    return result + "  " + padded(percent(accuracy()), 8) + "  accuracy %\n";
  }

 private:
  static std::size_t checked(std::size_t classes) {
    constexpr std::size_t limit = 65536;
    require<value_error>(classes <= limit, "confusion_matrix: expected at most ", limit,
                         " classes, got ", classes);
    return classes;
  }
  [[nodiscard]] std::size_t place(std::size_t truth, std::size_t prediction) const {
    require<value_error>(truth < classes_ && prediction < classes_,
                         "confusion_matrix: expected classes below ", classes_, ", got ", truth,
                         " and ", prediction);
    return truth * classes_ + prediction;
  }
  static double share(std::size_t part, std::size_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
  static std::string padded(const std::string& cell, std::size_t width, bool right = true) {
    const std::string gap(width - std::min(width, cell.size()), ' ');
    return right ? gap + cell : cell + gap;
  }
  static std::string percent(double value) { return fixed_text(100 * value, 1); }

  std::size_t classes_;
  std::vector<std::size_t> counts_;  // (true, predicted)
};

}  // namespace glia
