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

/// A set of samples of one shape, each of which can be written into a buffer. A user's own type
/// meets the concept with these members and one of the two kinds of targets below. Members are
/// called from a background thread, one at a time. They write all of the span that they are given:
/// a value that is left out, and one behind the end, are an error.
template <class D>
concept dataset = requires(const D& d, std::size_t i, std::span<float> values) {
  { d.size() } -> std::convertible_to<std::size_t>;
  { d.input_shape() } -> std::convertible_to<shape>;
  d.input(i, values);
};

/// Every sample belongs to a class, counted from 0.
template <class D>
concept labelled_dataset = dataset<D> && requires(const D& d, std::size_t i) {
  { d.label(i) } -> std::convertible_to<std::int32_t>;
};

/// Every sample has values that a model's output should come to.
template <class D>
concept valued_dataset = dataset<D> &&
    requires(const D& d, std::size_t i, std::span<float> values) {
  { d.target_shape() } -> std::convertible_to<shape>;
  d.target(i, values);
};

/// Samples and targets are rows of several tensors with names, for models of several inputs or
/// outputs. No parts: it is one tensor, without a name.
template <class D>
concept named_dataset = dataset<D> && requires(const D& d) {
  { d.input_parts() } -> std::same_as<const std::vector<row_part>&>;
  { d.target_parts() } -> std::same_as<const std::vector<row_part>&>;
};

/// A data set that is quicker at whole batches, for instance because it reads files on several
/// threads: it writes the samples with these numbers side by side, as `input` would each.
template <class D>
concept batched_dataset = dataset<D> &&
    requires(const D& d, std::span<const std::uint32_t> samples, std::span<float> values) {
  d.inputs(samples, values);
};

/// A data set whose samples may differ from epoch to epoch, because they are changed at random:
/// `inputs` is told the epoch, counted from 0, and gives the same for the same epoch. `varies` says
/// whether they do differ; where it is false, what was computed from a sample may be kept.
template <class D>
concept varying_dataset = batched_dataset<D> &&
    requires(const D& d, std::span<const std::uint32_t> samples, std::span<float> values,
             std::size_t epoch) {
  d.inputs(samples, values, epoch);
  { d.varies() } -> std::convertible_to<bool>;
};

namespace detail {

/// A data set whose members are known to write each row in full and nothing beyond, as those of
/// the library do: they say so in a static member `writes_whole_rows`. What others write is
/// checked.
template <class D>
concept writes_whole_rows = requires {
  requires D::writes_whole_rows;
};

/// Throws `data_error` for more samples than their 32-bit numbers tell apart: they would be
/// numbered from 0 again.
inline void require_numbered(std::string_view what, std::size_t samples) {
  constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();
  require<data_error>(samples <= most, what, ": the data set has ", samples,
                      " samples, more than the ", most, " that can be numbered; give it in parts");
}

}  // namespace detail

/// Whether a sample of the data set may differ from epoch to epoch.
template <dataset D>
[[nodiscard]] bool varies(const D& data) {
  if constexpr (varying_dataset<D>) {
    return data.varies();
  } else {
    return false;
  }
}

/// A data set to train on or to evaluate with.
template <class D>
concept supervised_dataset = labelled_dataset<D> || valued_dataset<D>;

/// Samples of a data set side by side in host memory.
struct batch {
  std::size_t size = 0;
  shape input_shape;  ///< (N, ...)
  std::vector<float> inputs;
  std::vector<std::int32_t> classes;  ///< (N), for labelled data
  shape target_shape;                 ///< (N, ...), for valued data
  std::vector<float> targets;

  // Where several ranks train together, and these are this one's samples of a larger batch:
  std::size_t first = 0;  ///< which of its samples the first one is
  std::size_t whole = 0;  ///< how many it has; 0: these are all

  [[nodiscard]] std::size_t whole_size() const noexcept { return whole == 0 ? size : whole; }
  /// The values that sample `n` should come to; none where it has a class.
  [[nodiscard]] std::span<const float> target_of(std::size_t n) const {
    const std::size_t each = targets.size() / size;
    return std::span<const float>(targets).subspan(n * each, each);
  }
  /// Whether it is of labelled data, also where it has no samples.
  [[nodiscard]] bool is_labelled() const noexcept {
    return !classes.empty() || (size == 0 && target_shape.rank() == 0);
  }
};

}  // namespace glia
