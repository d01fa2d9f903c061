#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace glia {

/// The samples of one class, its predictions, and the scores that follow from their numbers. A
/// score is 0 if its denominator is 0.
struct class_count {
  double true_positives = 0;  ///< Samples of the class that are predicted as this class.
  double predictions = 0;     ///< Samples that are predicted as this class.
  double samples = 0;         ///< Samples of the class.

  /// The fraction of the predictions that are right.
  [[nodiscard]] double precision() const { return share(true_positives, predictions); }
  /// The fraction of the samples that are predicted as this class.
  [[nodiscard]] double recall() const { return share(true_positives, samples); }
  /// The harmonic mean of precision and recall, 2 TP / (predictions + samples). It is also
  /// called Dice coefficient.
  [[nodiscard]] double f1_score() const { return share(2 * true_positives, predictions + samples); }
  /// Intersection over union, TP / (predictions + samples - TP). It is also called
  /// Jaccard index.
  [[nodiscard]] double iou() const {
    return share(true_positives, predictions + samples - true_positives);
  }

  friend bool operator==(const class_count&, const class_count&) = default;

 private:
  static double share(double part, double whole) { return whole > 0 ? part / whole : 0; }
};

/// The kind of average of a score over several classes.
enum class averaging : std::uint8_t {
  macro,     ///< The mean of the scores of all classes.
  micro,     ///< The score of the sums of the counts of all classes.
  weighted,  ///< The mean of the scores, weighted by the number of samples of each class.
};

/// Returns the name of a kind of average.
[[nodiscard]] constexpr std::string_view name_of(averaging average) noexcept {
  constexpr std::string_view names[] = {"macro", "micro", "weighted"};
  return names[static_cast<std::size_t>(average)];
}

/// A score of a class, such as `&glia::class_count::recall`.
using class_score = double (class_count::*)() const;

/// Returns the average of a score over classes. The result is 0 if there are no samples and no
/// predictions.
///
/// A macro average leaves out classes without samples and without predictions. If `include_empty`
/// is true, they count as a score of 0. scikit-learn does the first for samples with one class, and
/// the second for samples with several labels: pass true for `label_counts`. Samples of weight 0 do
/// not count.
///
///     glia::average(matrix.counts(), glia::averaging::macro, &glia::class_count::f1_score)
///
/// Source: the averages of scikit-learn's `precision_recall_fscore_support`.
[[nodiscard]] double average(std::span<const class_count> counts, averaging kind, class_score score,
                             bool include_empty = false);

/// Returns the mean of the recalls of all classes that have samples; 0 if no class has samples.
[[nodiscard]] double balanced_accuracy(std::span<const class_count> counts);

/// Returns the Matthews correlation coefficient of true classes and predictions, from -1 to 1. It
/// is 0 if all samples have the same class or the same prediction.
///
/// With s samples, c of which are predicted as their own class, t_k samples of class k and p_k
/// predictions of class k, it is (c s - sum t_k p_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)).
///
/// Source: Gorodkin, "Comparing two K-category assignments by a K-category correlation
/// coefficient", Computational Biology and Chemistry 28, 2004.
[[nodiscard]] double matthews_correlation(std::span<const class_count> counts);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/class_count_impl.hpp"
#endif
