#pragma once

#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/kernels/kernels.hpp"
#include "glia/layers/stream_recording.hpp"

namespace glia::detail {

GLIA_INLINE stream_recording::stream_recording(const recorder& rec, std::size_t block,
                                               std::size_t max_steps)
    : rec_(&rec),
      block_(block),
      max_steps_(max_steps),
      first_(rec.input("position", real_of({}))) {}

GLIA_INLINE tensor stream_recording::counted(std::size_t count) const {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.F);
  return rec_->from_host(std::span<const float>(numbers), {count});
}

GLIA_INLINE const tensor& stream_recording::positions() {
  if (!positions_) {
    positions_ = rec_->run(kernels::binary{binary_function::add}, counted(block_), first_);
  }
  return positions_;
}

GLIA_INLINE const tensor& stream_recording::not_later() {
  if (!not_later_) {
    const tensor next = rec_->run(kernels::unary{{unary_function::affine, 1, 1}}, positions());
    not_later_ = rec_->run(kernels::binary{binary_function::greater},
                           rec_->run(kernels::reshape{{block_, 1}}, next), counted(max_steps_));
  }
  return not_later_;
}

GLIA_INLINE tensor stream_recording::rows_of(const tensor& table) {
  return rec_->run(kernels::gather{}, table, rec_->run(kernels::to_index{}, positions()));
}

GLIA_INLINE tensor stream_recording::append(const tensor& block, std::size_t axis) {
  shape extents = block.shape();
  extents[axis] = max_steps_;
  const tensor earlier = state(extents);
  tensor result = rec_->run(kernels::update_slice{axis}, earlier, block,
                            rec_->run(kernels::to_index{}, first_));
  set_next(earlier, result);
  return result;
}

GLIA_INLINE tensor stream_recording::state(const shape& extents) {
  return rec_->input(text("state.", state_count_++), real_of(extents));
}

GLIA_INLINE void stream_recording::set_next(const tensor& state, const tensor& next) {
  rec_->next(state, next);
}

}  // namespace glia::detail
