#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/inference.hpp"
#include "glia/models/inference_programs.hpp"

namespace glia {

GLIA_INLINE std::shared_ptr<detail::inference_programs> detail::inference_programs::make(
    const recorder& recorded, const glia::device& device, std::size_t rows, bool depth_first,
    const function_ref<void(graph&)>* quantize, std::size_t varying_count) {
  graph g = recorded.recorded();
  std::vector<std::size_t> varying(varying_count);
  std::iota(varying.begin(), varying.end(), std::size_t{0});
  const fused_kernel_set fused = device.fused();
  detail::fuse_kernels(g, varying, fused, quantize);
  if (fused.contains<kernels::pack_panels>() && fused.contains<kernels::pack_transformed>() &&
      fused.contains<kernels::packed_dense>() &&
      fused.contains<kernels::packed_conv2d_max_pool2d>() &&
      fused.contains<kernels::conv2d_chain>()) {
    passes::pack_weights(g, detail::fixed_values(g, varying), fused);
  }
  if (device.compiles_whole_graphs()) {  // the compiler folds constants itself
    graph nothing;
    for (std::size_t i = varying_count; i < g.inputs().size(); ++i) {
      nothing.add_input(g.inputs()[i].name, g.spec(g.inputs()[i].value));
    }
    return std::make_shared<detail::inference_programs>(program(std::move(nothing), device),
                                                        program(std::move(g), device));
  }
  passes::hoisted parts = passes::hoist(std::move(g), varying);
  if (depth_first) {
    device.implementation().cut_batch(parts.varying, rows);
  }
  return std::make_shared<detail::inference_programs>(program(std::move(parts.fixed), device),
                                                      program(std::move(parts.varying), device));
}

GLIA_INLINE inference::inference(std::shared_ptr<detail::inference_programs> programs,
                                 const parameter_list& parameters)
    : programs_(std::move(programs)), version_(++programs_->versions) {
  const program& fixed_program = programs_->fixed;
  std::vector<tensor*> inputs;
  fixed_.reserve(parameters.size() + fixed_program.calls().outputs().size());
  for (const parameter& p : parameters) {
    inputs.push_back(&fixed_.emplace_back(p.value));
  }
  std::vector<tensor> hoisted(fixed_program.calls().outputs().size());
  fixed_program.run(inputs, hoisted);
  std::move(hoisted.begin(), hoisted.end(), std::back_inserter(fixed_));
}

GLIA_INLINE const graph& inference::calls() const { return programs_->varying.calls(); }
GLIA_INLINE const device& inference::device() const { return programs_->varying.device(); }

GLIA_INLINE tensor inference::operator()(tensor x, timeline* times) const {
  tensor y;
  tensor* const input = &x;
  run(std::span(&input, 1), std::span(&y, 1), times);
  return y;
}

GLIA_INLINE void inference::run(std::span<tensor* const> inputs, std::span<tensor> outputs,
                                timeline* times) const {
  programs_->varying.run(inputs, outputs, {fixed_, version_}, nullptr, times);
}

GLIA_INLINE bool inference::is_of(const parameter_list& parameters) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!fixed_[i].shares_memory(parameters[i].value)) {
      return false;
    }
  }
  return true;
}

GLIA_INLINE std::shared_ptr<const inference> inference_cache::get(
    std::size_t rows, const parameter_list& parameters,
    function_ref<std::shared_ptr<detail::inference_programs>()> make) const {
  const entry known = find(rows);
  if (known.snapshot && known.snapshot->is_of(parameters)) {
    return known.snapshot;
  }
  auto programs = known.programs ? known.programs : make();
  auto snapshot = std::make_shared<const inference>(programs, parameters);
  const bool whole = programs->varying.device().compiles_whole_graphs();
  keep({rows, std::move(programs), whole ? nullptr : snapshot});
  return snapshot;
}

GLIA_INLINE inference_cache::entry inference_cache::find(std::size_t rows) const {
  const std::lock_guard guard(lock_);
  for (const entry& known : entries_) {
    if (known.rows == rows) {
      return known;
    }
  }
  return {};
}

GLIA_INLINE void inference_cache::keep(entry added) const {
  const std::lock_guard guard(lock_);
  for (entry& known : entries_) {
    if (known.rows == added.rows) {
      std::swap(known, added);
      return;
    }
  }
  if (entries_.size() < max_entries) {
    entries_.push_back(std::move(added));
    return;
  }
  // Removes the oldest entry, which is destroyed after the lock is released.
  std::swap(entries_.front(), added);
  std::rotate(entries_.begin(), entries_.begin() + 1, entries_.end());
}

}  // namespace glia
