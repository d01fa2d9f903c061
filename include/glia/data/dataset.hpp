#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/row_part.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// A type that provides samples of one shape. Any type with these members works as a data set;
/// there is no base class to inherit from.
///
/// - `size()`: the number of samples.
/// - `input_shape()`: the shape of one sample, without the batch axis.
/// - `input(i, values)`: writes sample `i`, counted from 0, into `values`.
///
/// For training and evaluation, the type also needs the members of `labeled_dataset` or
/// `target_dataset`. glia calls the members from a background thread, one call at a time. `input`
/// and `target` must write every element of the span that they receive, and nothing beyond its end;
/// otherwise glia throws `data_error`.
template <class D>
concept dataset = requires(const D& d, std::size_t i, std::span<float> values) {
  { d.size() } -> std::convertible_to<std::size_t>;
  { d.input_shape() } -> std::convertible_to<shape>;
  d.input(i, values);
};

/// A data set whose samples have class labels: `label(i)` returns the class index of sample `i`,
/// counted from 0.
template <class D>
concept labeled_dataset = dataset<D> && requires(const D& d, std::size_t i) {
  { d.label(i) } -> std::convertible_to<std::int32_t>;
};

/// A data set whose samples have target values. The loss compares the model's output with them.
/// `target_shape()` returns the shape of one sample's targets, without the batch axis;
/// `target(i, values)` writes the targets of sample `i` into `values`.
template <class D>
concept target_dataset = dataset<D> &&
    requires(const D& d, std::size_t i, std::span<float> values) {
  { d.target_shape() } -> std::convertible_to<shape>;
  d.target(i, values);
};

/// A data set whose samples have weights: `weight(i)` returns the weight of sample `i`, which is
/// finite and at least 0. Training and evaluation multiply the loss of the sample by it.
/// `weighted_samples` gives weights to the samples of any data set.
template <class D>
concept weighted_dataset = dataset<D> && requires(const D& d, std::size_t i) {
  { d.weight(i) } -> std::convertible_to<float>;
};

namespace detail {

/// Throws `data_error` unless a weight of a sample is finite and at least 0.
inline void require_weight(std::string_view subject, std::size_t sample, float weight) {
  require<data_error>(weight >= 0 && weight <= std::numeric_limits<float>::max(), subject,
                      ": expected finite weights of at least 0, but sample ", sample,
                      " has the weight ", weight);
}

}  // namespace detail

/// A data set for models with several inputs or outputs. A row of inputs or targets holds several
/// named tensors of one sample, one after the other. `input_parts()` and `target_parts()` return
/// the tensors' names, shapes and positions in the row. An empty list means that the row is one
/// tensor without a name.
template <class D>
concept named_dataset = dataset<D> && requires(const D& d) {
  { d.input_parts() } -> std::same_as<const std::vector<row_part>&>;
  { d.target_parts() } -> std::same_as<const std::vector<row_part>&>;
};

/// A data set that can write a whole batch in one call, for instance because it reads files on
/// several threads. `inputs(samples, values)` writes the samples with the given indices one after
/// the other, with the same values as `input`.
template <class D>
concept batched_dataset = dataset<D> &&
    requires(const D& d, std::span<const std::uint32_t> samples, std::span<float> values) {
  d.inputs(samples, values);
};

/// A data set whose samples may differ between epochs, for instance by random augmentation.
/// `inputs(samples, values, epoch)` receives the epoch, counted from 0, and always writes the same
/// values for the same epoch. `varies()` returns whether the samples really differ. If it returns
/// false, glia may cache results that it computed from a sample, and reuse them in later epochs.
template <class D>
concept varying_dataset = batched_dataset<D> &&
    requires(const D& d, std::span<const std::uint32_t> samples, std::span<float> values,
             std::size_t epoch) {
  d.inputs(samples, values, epoch);
  { d.varies() } -> std::convertible_to<bool>;
};

/// A varying data set whose targets differ between epochs together with its inputs, such as masks
/// that are augmented as their images. `targets(samples, values, epoch)` writes the targets of the
/// samples with the given indices one after the other; those of epoch 0 are the values of `target`.
template <class D>
concept varying_target_dataset = varying_dataset<D> && target_dataset<D> &&
    requires(const D& d, std::span<const std::uint32_t> samples, std::span<float> values,
             std::size_t epoch) {
  d.targets(samples, values, epoch);
};

namespace detail {

/// A data set whose rows glia does not check, because it surely writes each row completely and
/// nothing beyond its end. The library's own data sets declare this with a static member
/// `writes_whole_rows`. All other data sets are checked.
template <class D>
concept writes_whole_rows = requires {
  requires D::writes_whole_rows;
};

/// A data set whose samples may share values, such as windows over a time series.
/// `samples_overlap()` returns whether they do.
template <class D>
concept overlapping_dataset = requires(const D& d) {
  { d.samples_overlap() } -> std::same_as<bool>;
};

/// Throws `data_error` if there are more samples than 32-bit indices can count.
inline void require_numbered(std::string_view subject, std::size_t samples) {
  constexpr std::size_t max_samples = std::numeric_limits<std::uint32_t>::max();
  require<data_error>(samples <= max_samples, subject, ": the data set has ", samples,
                      " samples, more than the ", max_samples,
                      " that 32-bit indices can count; divide it into several data sets");
}

}  // namespace detail

/// Returns whether the samples of a data set may differ between epochs.
template <dataset D>
[[nodiscard]] bool varies(const D& data) {
  if constexpr (varying_dataset<D>) {
    return data.varies();
  } else {
    return false;
  }
}

/// A data set with labels or targets, as training and evaluation need it.
template <class D>
concept supervised_dataset = labeled_dataset<D> || target_dataset<D>;

/// A batch of samples with their labels or targets, in host memory.
struct batch {
  std::size_t size = 0;
  shape input_shape;  ///< Shape of the inputs, (N, ...).
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;  ///< Class indices (N) of a labeled data set; otherwise empty.
  shape target_shape;  ///< Shape of the targets, (N, ...); has no axes if the samples have labels.
  std::vector<float> targets;    ///< Target values of a data set with targets; otherwise empty.
  std::vector<float> weights{};  ///< Weights (N) of a data set with weights; otherwise empty.

  // In distributed training, a batch holds this rank's samples of a larger batch:
  std::size_t first = 0;  ///< Index of this batch's first sample in the larger batch.
  std::size_t whole = 0;  ///< Number of samples of the larger batch; 0 if this is the whole batch.

  /// The number of samples of all ranks in the batch.
  [[nodiscard]] std::size_t whole_size() const noexcept { return whole == 0 ? size : whole; }
  /// Returns the target values of sample `n`; empty for a labeled data set.
  [[nodiscard]] std::span<const float> target_of(std::size_t n) const {
    const std::size_t target_size = targets.size() / size;
    return std::span<const float>(targets).subspan(n * target_size, target_size);
  }
  /// Whether the batch comes from a labeled data set. Also correct for a batch without samples.
  [[nodiscard]] bool is_labeled() const noexcept {
    return !labels.empty() || (size == 0 && target_shape.rank() == 0);
  }
};

}  // namespace glia
