#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/data/dataset.hpp"
#include "glia/data/subset.hpp"

namespace glia {

/// A data set divided into samples for training and samples for testing. Both are views that do not
/// copy samples, so the data set must outlive them. In each view, the samples keep the order of the
/// data set.
template <dataset D>
struct train_and_test {
  subset<D> train;  ///< Samples for training.
  subset<D> test;   ///< Samples for testing.
};

/// Options of `train_test_split`.
struct train_test_split_options {
  double test_size = 0.2;  ///< Fraction of the samples in `test`, between 0 and 1.
  std::uint64_t seed = 1;  ///< Seed of the shuffling.
  /// Whether the samples in `test` are drawn at random. If false, `test` gets the last samples of
  /// the data set or, with `stratify`, the last samples of each class.
  bool shuffle = true;
  /// Whether `test` gets the same fraction of each class, up to one sample per class. Needs a data
  /// set with class labels.
  bool stratify = false;
};

/// Options of `k_fold`.
struct k_fold_options {
  std::uint64_t seed = 1;  ///< Seed of the shuffling.
  /// Whether samples are drawn at random. If false, the samples of a fold follow each other in the
  /// data set or, with `stratify`, in each class.
  bool shuffle = true;
  /// Whether each class has the same number of samples in all folds, up to one sample. Needs a data
  /// set with class labels.
  bool stratify = false;
};

namespace detail {

/// Returns the indices of all samples, shuffled if `shuffled` is true. Throws `value_error` for an
/// empty data set.
[[nodiscard]] inline std::vector<std::uint32_t> order_of(std::string_view caller,
                                                         std::size_t samples, bool shuffled,
                                                         std::uint64_t seed) {
  // A separate stream of random numbers, because a trainer's shuffling and augmentation may use the
  // same seed.
  constexpr std::uint32_t split_stream = 0xFFFFFFFD;
  require<value_error>(samples > 0, caller, ": the data set is empty");
  require_numbered(caller, samples);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0U);
  if (shuffled) {
    shuffle(std::span(order), {.seed = seed, .stream = split_stream});
  }
  return order;
}

/// Throws `value_error` if samples are to be shuffled that share values: the same values would be
/// used for training and for testing.
template <dataset D>
void require_separate_samples(std::string_view caller, const D& data, bool shuffled) {
  if constexpr (overlapping_dataset<D>) {
    require<value_error>(
        !shuffled || !data.samples_overlap(), caller,
        ": expected samples that do not overlap, because they are shuffled: of two "
        "overlapping windows, one would be used for training and one for testing; "
        "use time_split or walk_forward, or set shuffle to false: then only windows at the border "
        "of the parts overlap");
  }
}

/// Returns k + 1 positions: where each fold of equal size begins, and the end of the last.
[[nodiscard]] inline std::vector<std::size_t> equal_folds(std::size_t samples, std::size_t k) {
  std::vector<std::size_t> borders;
  for (std::size_t i = 0; i <= k; ++i) {
    borders.push_back(samples * i / k);
  }
  return borders;
}

/// Reorders `order` so that the samples of each of k folds follow each other. Returns k + 1
/// positions: where each fold begins, and the end of the last.
///
/// The sizes of the folds differ by at most one, and so do the numbers of samples of a class in
/// them. A fold gets samples of a class that follow each other in `order`. Their number is that of
/// scikit-learn's StratifiedKFold: sort the samples by class, the class of the first sample first;
/// then fold f gets as many samples of a class as the class has at the positions f, f + k, ...
template <labeled_dataset D>
[[nodiscard]] std::vector<std::size_t> stratified_folds(const D& data, std::size_t k,
                                                        std::vector<std::uint32_t>& order) {
  std::map<std::int32_t, std::size_t> class_index;
  for (std::size_t i = 0; i < order.size(); ++i) {
    class_index.emplace(data.label(i), class_index.size());
  }
  std::vector<std::vector<std::uint32_t>> classes(class_index.size());
  for (const std::uint32_t sample : order) {
    classes[class_index.at(data.label(sample))].push_back(sample);
  }
  const std::size_t largest =
      std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) {
        return a.size() < b.size();
      })->size();
  require<value_error>(k <= largest, "k_fold: with stratify, expected k of at most ", largest,
                       ", the number of samples of the largest class, got ", k);
  std::vector<std::vector<std::uint32_t>> folds(k);
  std::size_t first = 0;  // position of the class among the samples sorted by class
  for (const std::vector<std::uint32_t>& samples : classes) {
    auto next = samples.begin();
    for (std::size_t f = 0; f < k; ++f) {
      // The number of positions f, f + k, ... that are smaller than `end`.
      const auto count_below = [&](std::size_t end) { return (end + k - 1 - f) / k; };
      const std::size_t count = count_below(first + samples.size()) - count_below(first);
      folds[f].insert(folds[f].end(), next, next + static_cast<std::ptrdiff_t>(count));
      next += static_cast<std::ptrdiff_t>(count);
    }
    first += samples.size();
  }
  order.clear();
  std::vector<std::size_t> borders{0};
  for (const std::vector<std::uint32_t>& fold : folds) {
    order.insert(order.end(), fold.begin(), fold.end());
    borders.push_back(order.size());
  }
  return borders;
}

/// Divides the samples in two: `test` gets the positions [first, last) of `order`, `train` the
/// rest.
template <dataset D>
[[nodiscard]] train_and_test<D> parts_of(const D& data, std::span<const std::uint32_t> order,
                                         std::size_t first, std::size_t last) {
  std::vector<std::uint32_t> test(order.begin() + static_cast<std::ptrdiff_t>(first),
                                  order.begin() + static_cast<std::ptrdiff_t>(last));
  std::vector<std::uint32_t> train(order.begin(),
                                   order.begin() + static_cast<std::ptrdiff_t>(first));
  train.insert(train.end(), order.begin() + static_cast<std::ptrdiff_t>(last), order.end());
  std::sort(test.begin(), test.end());
  std::sort(train.begin(), train.end());
  return {subset<D>(data, std::move(train)), subset<D>(data, std::move(test))};
}

/// Moves `held_out` samples to the end of `order`: the last samples of each class, in proportion to
/// the size of the class. These numbers are rounded down. The classes with the largest remainders
/// then provide one sample more each, until there are `held_out` samples (Hamilton's method).
template <labeled_dataset D>
void hold_out_of_each_class(const D& data, std::size_t held_out,
                            std::vector<std::uint32_t>& order) {
  struct group {
    std::vector<std::uint32_t> samples;
    std::size_t held_out = 0;
    std::size_t rest = 0;  // remainder of rounding down, multiplied by the number of samples
  };
  std::map<std::int32_t, group> classes;
  for (const std::uint32_t sample : order) {
    classes[data.label(sample)].samples.push_back(sample);
  }
  std::vector<group*> by_rest;
  std::size_t remaining = held_out;
  for (auto& [label, g] : classes) {
    const std::size_t product = g.samples.size() * held_out;
    g.held_out = product / order.size();
    g.rest = product % order.size();
    remaining -= g.held_out;
    by_rest.push_back(&g);
  }
  std::stable_sort(by_rest.begin(), by_rest.end(),
                   [](const group* a, const group* b) { return a->rest > b->rest; });
  for (std::size_t i = 0; i < remaining; ++i) {
    ++by_rest[i]->held_out;
  }
  auto train = order.begin();
  auto test = order.end() - static_cast<std::ptrdiff_t>(held_out);
  for (const auto& [label, g] : classes) {
    const auto border = g.samples.end() - static_cast<std::ptrdiff_t>(g.held_out);
    train = std::copy(g.samples.begin(), border, train);
    test = std::copy(border, g.samples.end(), test);
  }
}

}  // namespace detail

/// Splits a data set at random into samples for training and samples for testing.
///
/// Of N samples, `test` gets round(test_size * N) and `train` the rest. (scikit-learn's function of
/// the same name rounds up, and its default for `test_size` is 0.25.) The split depends only on the
/// options and N and, with `stratify`, on the labels. `train` and `test` are views of `data`, which
/// must outlive them.
///
///     const auto [train, test] = glia::train_test_split(data, {.test_size = 0.2});
///
/// Throws `value_error` if the data set is empty, if `test_size` is not between 0 and 1, or if
/// `train` or `test` would be empty. Throws `value_error`, too, if `stratify` is set for a data set
/// without class labels, or if `shuffle` is set for `sliding_windows` that overlap.
template <dataset D>
[[nodiscard]] train_and_test<D> train_test_split(const D& data,
                                                 const train_test_split_options& options = {}) {
  require<value_error>(options.test_size > 0 && options.test_size < 1,
                       "train_test_split: expected a test_size between 0 and 1, got ",
                       options.test_size);
  require<value_error>(labeled_dataset<D> || !options.stratify,
                       "train_test_split: stratify needs class labels, but this data set has "
                       "target values; set stratify to false");
  detail::require_separate_samples("train_test_split", data, options.shuffle);
  auto order = detail::order_of("train_test_split", data.size(), options.shuffle, options.seed);
  const auto held_out =
      static_cast<std::size_t>(std::round(options.test_size * static_cast<double>(order.size())));
  require<value_error>(held_out > 0 && held_out < order.size(), "train_test_split: a test_size of ",
                       options.test_size, " of ", order.size(), " samples leaves ",
                       "no sample for ", held_out == 0 ? "testing" : "training");
  if constexpr (labeled_dataset<D>) {
    if (options.stratify) {
      detail::hold_out_of_each_class(data, held_out, order);
    }
  }
  return detail::parts_of(data, order, order.size() - held_out, order.size());
}
template <dataset D>
train_and_test<D> train_test_split(const D&& data,
                                   const train_test_split_options& options = {}) = delete;

/// Divides a data set into k folds for cross-validation and returns k splits. Each fold is `test`
/// in one split; the other folds together are `train` in this split.
///
/// The sizes of the folds differ by at most one sample. Samples are shuffled by default, in
/// contrast to scikit-learn's `KFold`. With `stratify`, the numbers of samples of a class in the
/// folds differ by at most one, too; without `shuffle`, the folds are then those of scikit-learn's
/// `StratifiedKFold`. The splits are views of `data`, which must outlive them.
///
///     for (const auto& [train, test] : glia::k_fold(data, 5)) {
///
/// Throws `value_error` if the data set is empty or k is not between 2 and the number of samples.
/// Throws `value_error`, too, if `stratify` is set for a data set without class labels, if no class
/// has k samples, or if `shuffle` is set for `sliding_windows` that overlap.
template <dataset D>
[[nodiscard]] std::vector<train_and_test<D>> k_fold(const D& data, std::size_t k,
                                                    const k_fold_options& options = {}) {
  require<value_error>(labeled_dataset<D> || !options.stratify,
                       "k_fold: stratify needs class labels, but this data set has target values; "
                       "set stratify to false");
  detail::require_separate_samples("k_fold", data, options.shuffle);
  auto order = detail::order_of("k_fold", data.size(), options.shuffle, options.seed);
  const std::size_t size = order.size();
  require<value_error>(k >= 2 && k <= size, "k_fold: expected k from 2 to ", size,
                       ", the number of samples, got ", k);
  std::vector<std::size_t> borders = detail::equal_folds(size, k);
  if constexpr (labeled_dataset<D>) {
    if (options.stratify) {
      borders = detail::stratified_folds(data, k, order);
    }
  }
  std::vector<train_and_test<D>> result;
  result.reserve(k);
  for (std::size_t i = 0; i < k; ++i) {
    result.push_back(detail::parts_of(data, order, borders[i], borders[i + 1]));
  }
  return result;
}
template <dataset D>
std::vector<train_and_test<D>> k_fold(const D&& data, std::size_t k,
                                      const k_fold_options& options = {}) = delete;

}  // namespace glia
