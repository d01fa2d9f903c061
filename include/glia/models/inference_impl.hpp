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

#include "glia/graph/improve.hpp"
#include "glia/graph/passes.hpp"
#include "glia/models/inference.hpp"

namespace glia {

template <backend B>
std::shared_ptr<inference_programs<B>> inference_programs<B>::make(
    const recorder& recorded, const B& device, std::size_t rows, bool depth_first,
    const function_ref<void(graph&)>* quantize) {
  graph g = recorded.recorded();
  const std::vector<std::size_t> varying{0};
  constexpr fused_kernel_set fused = fused_kernel_set::of<B>();
  fuse_kernels(g, varying, fused, quantize);
  if (fused.contains<kernels::pack_panels>() && fused.contains<kernels::pack_transformed>() &&
      fused.contains<kernels::packed_dense>() &&
      fused.contains<kernels::packed_conv2d_max_pool2d>() &&
      fused.contains<kernels::conv2d_chain>()) {
    passes::pack_weights(g, fixed_values(g, varying));
  }
  if constexpr (compiling_backend<B>) {  // the compiler folds constants itself
    graph nothing;
    for (std::size_t i = 1; i < g.inputs().size(); ++i) {
      nothing.add_input(g.inputs()[i].name, g.spec(g.inputs()[i].value));
    }
    return std::make_shared<inference_programs>(program<B>(std::move(nothing), device),
                                                program<B>(std::move(g), device));
  }
  passes::hoisted parts = passes::hoist(std::move(g), varying);
  if (depth_first) {
    cut_for_lanes(parts.each, device, rows);
  }
  return std::make_shared<inference_programs>(program<B>(std::move(parts.once), device),
                                              program<B>(std::move(parts.each), device));
}

template <backend B>
inference<B>::inference(std::shared_ptr<inference_programs<B>> programs,
                        const parameter_list<B>& parameters)
    : programs_(std::move(programs)), version_(++programs_->versions) {
  const program<B>& once = programs_->once;
  std::vector<tensor*> inputs;
  fixed_.reserve(parameters.size() + once.calls().outputs().size());
  for (const parameter<B>& p : parameters) {
    inputs.push_back(&fixed_.emplace_back(p.value));
  }
  std::vector<tensor> hoisted(once.calls().outputs().size());
  once.run(inputs, hoisted);
  std::move(hoisted.begin(), hoisted.end(), std::back_inserter(fixed_));
}

template <backend B>
typename B::tensor inference<B>::operator()(tensor x, timeline* times) const {
  tensor y;
  tensor* const input = &x;
  programs_->each.run(std::span(&input, 1), std::span(&y, 1), {fixed_, version_}, nullptr, times);
  return y;
}

template <backend B>
bool inference<B>::is_of(const parameter_list<B>& parameters) const {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!fixed_[i].shares_memory(parameters[i].value)) {
      return false;
    }
  }
  return true;
}

template <backend B>
std::shared_ptr<const inference<B>> inference_cache<B>::get(
    std::size_t rows, const parameter_list<B>& parameters,
    function_ref<std::shared_ptr<inference_programs<B>>()> make) const {
  const entry known = find(rows);
  if (known.made && known.made->is_of(parameters)) {
    return known.made;
  }
  auto programs = known.programs ? known.programs : make();
  auto made = std::make_shared<const inference<B>>(programs, parameters);
  keep({rows, std::move(programs), compiling_backend<B> ? nullptr : made});
  return made;
}

template <backend B>
typename inference_cache<B>::entry inference_cache<B>::find(std::size_t rows) const {
  const std::lock_guard guard(lock_);
  for (const entry& one : made_) {
    if (one.rows == rows) {
      return one;
    }
  }
  return {};
}

template <backend B>
void inference_cache<B>::keep(entry one) const {
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
