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
    : rec_(&rec), max_steps_(max_steps) {
  const auto counted = [&](std::size_t count) {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0.F);
    return rec.from_host(std::span<const float>(numbers), {count});
  };
  const tensor first = rec.input("position", real_of({}));
  first_ = rec.run(kernels::to_index{}, first);
  positions_ = rec.run(kernels::binary{binary_function::add}, counted(block), first);
  const tensor next_positions = rec.run(kernels::unary{{unary_function::affine, 1, 1}}, positions_);
  not_later_ = rec.run(kernels::binary{binary_function::greater},
                       rec.run(kernels::reshape{{block, 1}}, next_positions), counted(max_steps));
}

GLIA_INLINE tensor stream_recording::rows_of(const tensor& table) const {
  return rec_->run(kernels::gather{}, table, rec_->run(kernels::to_index{}, positions_));
}

GLIA_INLINE tensor stream_recording::append(const tensor& block, std::size_t axis) {
  shape extents = block.shape();
  extents[axis] = max_steps_;
  const tensor state = rec_->input(text("state.", state_count_++), real_of(extents));
  tensor result = rec_->run(kernels::update_slice{axis}, state, block, first_);
  rec_->next(state, result);
  return result;
}

}  // namespace glia::detail
