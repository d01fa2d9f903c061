#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"

namespace glia {

/// The backend of a `recorder`.
class recording_backend final : public backend {
 public:
  recording_backend(graph begun, const fused_kernel_set& fused)
      : graph_(std::move(begun)), fused_(fused) {}

  [[nodiscard]] std::string_view name() const override { return "recorder"; }
  [[nodiscard]] std::size_t real_bytes() const override { return sizeof(float); }
  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const float> values,
                                             const shape& s) const override;
  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const double> values,
                                             const shape& s) const override;
  [[nodiscard]] GLIA_INLINE tensor from_host(std::span<const std::int32_t> values,
                                             const shape& s) const override;
  GLIA_INLINE void to_host(const tensor& x, std::span<float> destination) const override;
  GLIA_INLINE void to_host(const tensor& x, std::span<double> destination) const override;
  GLIA_INLINE void to_host(const tensor& x, std::span<std::int32_t> destination) const override;
  GLIA_INLINE void run(const kernel_call& call) const override;
  [[nodiscard]] fused_kernel_set fused() const override { return fused_; }
  [[nodiscard]] graph* recording() const override { return &graph_; }

 private:
  mutable graph graph_;
  fused_kernel_set fused_;
};

namespace detail {

/// Throws `value_error` unless a tensor can be a value of this graph: it has been recorded, and the
/// graph has a value of its shape with its number.
void require_recorded(const tensor& x, const graph& calls);
/// Throws `value_error` if an id is not that of a value of the graph.
void require_value(std::string_view caller, const graph& calls, value_id id);

}  // namespace detail

/// A device that computes nothing: it records kernels as nodes of a graph, which is later compiled
/// for another device. Code that uses a recorder runs once for each shape, not once for each batch.
///
/// Tensors from `from_host` are constants; tensors that vary from run to run are `input`s. Copies
/// record into the same graph. Do not use a recorder from several threads at the same time.
///
/// Throws `value_error` if a kernel, `output` or `next` gets a tensor of another device, and if a
/// tensor is copied to the host: it has no elements before a run. A tensor of another recorder is
/// noticed only if this graph has no value of its shape with its number.
class recorder : public device {
 public:
  /// Makes a recorder for a device that runs these fused kernels.
  explicit recorder(const fused_kernel_set& fused = {}) : recorder(graph(), fused) {}
  /// Makes a recorder that adds nodes to a graph.
  explicit recorder(graph begun, const fused_kernel_set& fused = {})
      : device(std::make_shared<const recording_backend>(std::move(begun), fused)) {}

  /// Returns the graph with everything that was recorded so far.
  [[nodiscard]] const graph& recorded() const { return *recording(); }
  [[nodiscard]] graph& recorded() { return *recording(); }

  /// Adds an input: a tensor that the caller passes to each run.
  [[nodiscard]] tensor input(std::string name, const tensor_spec& spec) const {
    return tensor::recorded(recording()->add_input(std::move(name), spec), spec);
  }
  /// Adds an input with one row for each sample.
  [[nodiscard]] tensor samples(std::string name, const tensor_spec& spec) const {
    return tensor::recorded(recording()->add_input(std::move(name), spec, true), spec);
  }
  /// Returns a value of the graph as a tensor, such as a gradient from `differentiate`. Throws
  /// `value_error` if the graph does not have this value.
  [[nodiscard]] tensor value(value_id id) const {
    detail::require_value("recorder", *recording(), id);
    return tensor::recorded(id, recording()->spec(id));
  }
  /// Makes a tensor an output of each run.
  void output(std::string name, const tensor& value) const {
    detail::require_recorded(value, *recording());
    recording()->add_output(std::move(name), value.number());
  }

  /// Sets the place (layer and phase) of all nodes that are recorded after this call; see graph.
  void set_place(std::string_view name, step_phase phase = step_phase::forward) const {
    recording()->set_place(graph_place{std::string(name), phase});
  }

  /// Sets the value that an input has after each run. It may be the input itself.
  void next(const tensor& input, const tensor& value) const {
    detail::require_recorded(input, *recording());
    detail::require_recorded(value, *recording());
    if (value.number() != input.number()) {
      recording()->set_next(input.number(), value.number());
    }
  }
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/recorder_impl.hpp"
#endif
