#pragma once

#include <cstddef>

#include "glia/kernels/tensor.hpp"

namespace glia {

class recorder;

namespace detail {

/// The recording of a model that runs on blocks of a sequence; see `stream`. Layers whose output
/// depends on earlier steps keep their state here.
class stream_recording {
 public:
  /// Begins the recording of a block of `block` steps in a sequence of at most `max_steps` steps.
  /// The recorder must exist as long as this object.
  stream_recording(const recorder& rec, std::size_t block, std::size_t max_steps);

  [[nodiscard]] std::size_t max_steps() const { return max_steps_; }
  /// The positions of the steps of the block in the sequence, counted from 0: numbers (B).
  [[nodiscard]] const tensor& positions() const { return positions_; }
  /// Whether a step of the sequence is not later than a step of the block: numbers (B, max_steps)
  /// that are 1 or 0.
  [[nodiscard]] const tensor& not_later() const { return not_later_; }

  /// Returns the rows of a table (max_steps, ...) for the steps of the block: (B, ...).
  [[nodiscard]] tensor rows_of(const tensor& table) const;

  /// Writes a block (..., B, ...) into a state (..., max_steps, ...) with the steps along `axis`.
  /// Returns the state with all steps so far; the later ones are 0.
  [[nodiscard]] tensor append(const tensor& block, std::size_t axis);

 private:
  const recorder* rec_;
  std::size_t max_steps_;
  tensor first_;  // the position of the block's first step: an integer ()
  tensor positions_;
  tensor not_later_;
  std::size_t state_count_ = 0;
};

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/layers/stream_recording_impl.hpp"
#endif
