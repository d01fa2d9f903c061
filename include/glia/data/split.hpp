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

/// The two parts of a data set, which must outlive them. In both, samples are in the data set's
/// order.
template <dataset D>
struct train_and_test {
  subset<D> train;
  subset<D> test;
};

/// How `split` cuts a data set.
struct split_options {
  double share = 0.2;  ///< of the samples that `test` gets; between 0 and 1
  std::uint64_t seed = 1;
  bool shuffle = true;    ///< false: `test` gets the last samples, with `stratify` of each class
  bool stratify = false;  ///< `test` gets that share of each class, up to one sample
};

/// How `k_fold` cuts a data set.
struct fold_options {
  std::uint64_t seed = 1;
  bool shuffle = true;  ///< false: each part is a run of samples that follow each other
};

namespace detail {

/// The numbers of all samples, shuffled if asked for. Throws `value_error` for an empty data set.
[[nodiscard]] inline std::vector<std::uint32_t> order_of(std::string_view what, std::size_t samples,
                                                         bool shuffled, std::uint64_t seed) {
  // Apart from a trainer's shuffling and from augmentation, which may have the same seed.
  constexpr std::uint32_t split_stream = 0xFFFFFFFD;
  require<value_error>(samples > 0, what, ": the data set is empty");
  require_numbered(what, samples);
  std::vector<std::uint32_t> order(samples);
  std::iota(order.begin(), order.end(), 0U);
  if (shuffled) {
    shuffle(std::span(order), {.seed = seed, .stream = split_stream});
  }
  return order;
}

/// `test` gets what stands from `first` to before `last` in an order of all samples.
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

/// Moves `held_out` samples to the end of an order, from the end of each class as many as its share
/// of them: what rounding down leaves goes to the classes that lose most by it (Hamilton's method).
template <labelled_dataset D>
void hold_out_of_each_class(const D& data, std::size_t held_out,
                            std::vector<std::uint32_t>& order) {
  struct group {
    std::vector<std::uint32_t> samples;
    std::size_t held_out = 0;
    std::size_t rest = 0;  // what rounding down leaves, times the number of samples
  };
  std::map<std::int32_t, group> classes;
  for (const std::uint32_t sample : order) {
    classes[data.label(sample)].samples.push_back(sample);
  }
  std::vector<group*> by_rest;
  std::size_t left = held_out;
  for (auto& [label, g] : classes) {
    const std::size_t product = g.samples.size() * held_out;
    g.held_out = product / order.size();
    g.rest = product % order.size();
    left -= g.held_out;
    by_rest.push_back(&g);
  }
  std::stable_sort(by_rest.begin(), by_rest.end(),
                   [](const group* a, const group* b) { return a->rest > b->rest; });
  for (std::size_t i = 0; i < left; ++i) {
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

/// Splits a data set in two, `test` having round(share N) of the N samples. The parts depend on the
/// options and N alone, and with `stratify` on the classes.
///
///     const auto [train, test] = glia::split(data, {.share = 0.2});
///
/// Throws `value_error` for an empty data set, a share outside (0, 1) or one that leaves a part
/// without samples, and where samples without classes are to be stratified.
template <dataset D>
[[nodiscard]] train_and_test<D> split(const D& data, const split_options& options = {}) {
  require<value_error>(options.share > 0 && options.share < 1,
                       "split: expected a share between 0 and 1, got ", options.share);
  require<value_error>(labelled_dataset<D> || !options.stratify,
                       "split: only samples with classes can be stratified, and these have none; "
                       "leave it out");
  auto order = detail::order_of("split", data.size(), options.shuffle, options.seed);
  const auto held_out =
      static_cast<std::size_t>(std::round(options.share * static_cast<double>(order.size())));
  require<value_error>(held_out > 0 && held_out < order.size(), "split: a share of ", options.share,
                       " of ", order.size(), " samples leaves ",
                       held_out == 0 ? "none to test" : "none to train", " with");
  if constexpr (labelled_dataset<D>) {
    if (options.stratify) {
      detail::hold_out_of_each_class(data, held_out, order);
    }
  }
  return detail::parts_of(data, order, order.size() - held_out, order.size());
}
template <dataset D>
train_and_test<D> split(const D&& data, const split_options& options = {}) = delete;

/// The k ways to test with one part of a data set and to train with the others, for
/// cross-validation: every sample is in exactly one `test`, and their sizes differ by at most 1.
///
///     for (const auto& [train, test] : glia::k_fold(data, 5)) {
///
/// Throws `value_error` for an empty data set and for k that is not from 2 to its size.
template <dataset D>
[[nodiscard]] std::vector<train_and_test<D>> k_fold(const D& data, std::size_t k,
                                                    const fold_options& options = {}) {
  const auto order = detail::order_of("k_fold", data.size(), options.shuffle, options.seed);
  const std::size_t size = order.size();
  require<value_error>(k >= 2 && k <= size, "k_fold: expected k from 2 to the ", size,
                       " samples, got ", k);
  std::vector<train_and_test<D>> result;
  result.reserve(k);
  for (std::size_t i = 0; i < k; ++i) {
    result.push_back(detail::parts_of(data, order, size * i / k, size * (i + 1) / k));
  }
  return result;
}
template <dataset D>
std::vector<train_and_test<D>> k_fold(const D&& data, std::size_t k,
                                      const fold_options& options = {}) = delete;

}  // namespace glia
