#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
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
    const function_ref<void(graph&)>* quantize) {
  graph g = recorded.recorded();
  const std::vector<std::size_t> varying{0};
  const fused_kernel_set fused = device.fused();
  detail::fuse_kernels(g, varying, fused, quantize);
  if (fused.contains<kernels::pack_panels>() && fused.contains<kernels::pack_transformed>() &&
      fused.contains<kernels::packed_dense>() &&
      fused.contains<kernels::packed_conv2d_max_pool2d>() &&
      fused.contains<kernels::conv2d_chain>()) {
    passes::pack_weights(g, detail::fixed_values(g, varying));
  }
  if (device.compiles_whole_graphs()) {  // the compiler folds constants itself
    graph nothing;
    for (std::size_t i = 1; i < g.inputs().size(); ++i) {
      nothing.add_input(g.inputs()[i].name, g.spec(g.inputs()[i].value));
    }
    return std::make_shared<detail::inference_programs>(program(std::move(nothing), device),
                                                        program(std::move(g), device));
  }
  passes::hoisted parts = passes::hoist(std::move(g), varying);
  if (depth_first) {
    device.implementation().cut_batch(parts.each, rows);
  }
  return std::make_shared<detail::inference_programs>(program(std::move(parts.once), device),
                                                      program(std::move(parts.each), device));
}

GLIA_INLINE inference::inference(std::shared_ptr<detail::inference_programs> programs,
                                 const parameter_list& parameters)
    : programs_(std::move(programs)), version_(++programs_->versions) {
  const program& once = programs_->once;
  std::vector<tensor*> inputs;
  fixed_.reserve(parameters.size() + once.calls().outputs().size());
  for (const parameter& p : parameters) {
    inputs.push_back(&fixed_.emplace_back(p.value));
  }
  std::vector<tensor> hoisted(once.calls().outputs().size());
  once.run(inputs, hoisted);
  std::move(hoisted.begin(), hoisted.end(), std::back_inserter(fixed_));
}

GLIA_INLINE const graph& inference::calls() const { return programs_->each.calls(); }
GLIA_INLINE const device& inference::device() const { return programs_->each.device(); }

GLIA_INLINE tensor inference::operator()(tensor x, timeline* times) const {
  tensor y;
  tensor* const input = &x;
  programs_->each.run(std::span(&input, 1), std::span(&y, 1), {fixed_, version_}, nullptr, times);
  return y;
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
  if (known.made && known.made->is_of(parameters)) {
    return known.made;
  }
  auto programs = known.programs ? known.programs : make();
  auto made = std::make_shared<const inference>(programs, parameters);
  const bool whole = programs->each.device().compiles_whole_graphs();
  keep({rows, std::move(programs), whole ? nullptr : made});
  return made;
}

GLIA_INLINE inference_cache::entry inference_cache::find(std::size_t rows) const {
  const std::lock_guard guard(lock_);
  for (const entry& one : made_) {
    if (one.rows == rows) {
      return one;
    }
  }
  return {};
}

GLIA_INLINE void inference_cache::keep(entry one) const {
  const std::lock_guard guard(lock_);
  for (entry& known : made_) {
    if (known.rows == one.rows) {
      std::swap(known, one);
      return;
    }
  }
  if (made_.size() < most) {
    made_.push_back(std::move(one));
    return;
  }
  // Removes the oldest entry, which is destroyed after the lock is released.
  std::swap(made_.front(), one);
  std::rotate(made_.begin(), made_.begin() + 1, made_.end());
}

}  // namespace glia
