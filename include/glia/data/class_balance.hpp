#pragma once

// Help for data sets in which classes have different numbers of samples.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/data/dataset.hpp"
#include "glia/data/subset.hpp"

namespace glia {

namespace detail {

/// Returns the samples of each class. Throws `value_error` for an empty data set and `data_error`
/// for a negative label.
template <labeled_dataset D>
[[nodiscard]] std::map<std::int32_t, std::vector<std::uint32_t>> samples_of_classes(
    std::string_view caller, const D& data) {
  require<value_error>(data.size() > 0, caller, ": the data set is empty");
  require_numbered(caller, data.size());
  std::map<std::int32_t, std::vector<std::uint32_t>> classes;
  for (std::size_t i = 0; i < data.size(); ++i) {
    const std::int32_t label = data.label(i);
    require<data_error>(label >= 0, caller, ": sample ", i, " has the label ", label,
                        "; expected a class, counted from 0");
    classes[label].push_back(static_cast<std::uint32_t>(i));
  }
  return classes;
}

}  // namespace detail

/// Returns a weight for each class, with which all classes contribute equally to the loss of the
/// data set. It is for the option `class_weight` of `softmax_cross_entropy`, and of
/// `sigmoid_cross_entropy` for a model with one output.
///
///     w_k = N / (C N_k)
///
/// N is the number of samples, N_k the number of samples of class k, and C the number of classes
/// that have samples. The weight of a class without samples is 0. Corresponds to `class_weight=
/// "balanced"` in scikit-learn.
///
/// `classes` is the number of weights; if 0, it is the largest label plus 1. Throws `value_error`
/// if the data set is empty or a label is not smaller than `classes`, and `data_error` if a label
/// is negative.
template <labeled_dataset D>
[[nodiscard]] std::vector<float> balanced_class_weight(const D& data, std::size_t classes = 0) {
  const auto by_class = detail::samples_of_classes("balanced_class_weight", data);
  const auto largest = static_cast<std::size_t>(by_class.rbegin()->first);
  require<value_error>(classes == 0 || largest < classes,
                       "balanced_class_weight: expected labels below ", classes, ", got ", largest);
  std::vector<float> weights(classes == 0 ? largest + 1 : classes);
  for (const auto& [label, members] : by_class) {
    weights[static_cast<std::size_t>(label)] = static_cast<float>(
        static_cast<double>(data.size()) / (static_cast<double>(by_class.size() * members.size())));
  }
  return weights;
}

/// Options of `balance_classes`.
struct balance_classes_options {
  /// Number of samples of each class in the result. If 0, it is the number of samples of the
  /// largest class.
  std::size_t samples_per_class = 0;
  std::uint64_t seed = 1;  ///< Seed of the drawing.
};

/// Returns a view of a data set in which all classes have the same number of samples.
///
/// If a class has fewer samples than this number, its samples are repeated; how often they occur
/// differs by at most one. If it has more samples, a random selection of them remains. The result
/// depends only on the labels and the options. The samples keep the order of the data set,
/// which must outlive the view. Balance only the samples for training: scores of balanced samples
/// do not show how good a model is for the original ones.
///
///     const auto [train, test] = glia::train_test_split(data, {.stratify = true});
///     const auto balanced = glia::balance_classes(train);
///
/// Throws `value_error` if the data set is empty, and `data_error` if a label is negative.
template <labeled_dataset D>
[[nodiscard]] subset<D> balance_classes(const D& data,
                                        const balance_classes_options& options = {}) {
  // A separate stream of random numbers, because a split may use the same seed.
  constexpr std::uint32_t balance_stream = 0xFFFFFFFC;
  auto by_class = detail::samples_of_classes("balance_classes", data);
  std::size_t count = options.samples_per_class;
  for (const auto& [label, members] : by_class) {
    count = options.samples_per_class > 0 ? count : std::max(count, members.size());
  }
  std::vector<std::uint32_t> chosen;
  chosen.reserve(count * by_class.size());
  std::uint32_t class_index = 0;
  for (auto& [label, members] : by_class) {
    for (std::size_t copy = 0; copy < count / members.size(); ++copy) {
      chosen.insert(chosen.end(), members.begin(), members.end());
    }
    shuffle(std::span(members),
            {.seed = options.seed, .stream = balance_stream, .step = class_index++});
    chosen.insert(chosen.end(), members.begin(),
                  members.begin() + static_cast<std::ptrdiff_t>(count % members.size()));
  }
  std::sort(chosen.begin(), chosen.end());
  return {data, std::move(chosen)};
}
template <labeled_dataset D>
subset<D> balance_classes(const D&& data, const balance_classes_options& options = {}) = delete;

}  // namespace glia
