#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/graph.hpp"

namespace glia {

/// A backend that computes nothing: it records kernels as nodes of a graph, which is later compiled
/// for a device. Code that uses a recorder runs once for each shape, not once for each batch.
///
/// Tensors from `from_host` are constants; tensors that vary from run to run are `input`s. Copies
/// record into the same graph. Do not use a recorder from several threads at the same time.
class recorder {
 public:
  using value_type = float;  // the device of the compiled graph decides

  /// A value of the graph.
  class tensor {
   public:
    tensor() = default;
    [[nodiscard]] const glia::shape& shape() const noexcept { return spec_.shape; }
    [[nodiscard]] element type() const noexcept { return spec_.type; }
    [[nodiscard]] explicit operator bool() const noexcept { return id_ != no_value; }
    [[nodiscard]] value_id id() const noexcept { return id_; }

   private:
    friend class recorder;
    tensor(value_id id, const tensor_spec& spec) : id_(id), spec_(spec) {}
    value_id id_ = no_value;
    tensor_spec spec_;
  };

  /// Makes a recorder for a device that runs these fused kernels.
  explicit recorder(const fused_kernel_set& fused = {})
      : graph_(std::make_shared<graph>()), fused_(fused) {}

  [[nodiscard]] std::string_view name() const { return "recorder"; }
  [[nodiscard]] const graph& recorded() const { return *graph_; }
  [[nodiscard]] graph& recorded() { return *graph_; }
  /// Returns the fused kernels of the device for which the graph is recorded.
  [[nodiscard]] const fused_kernel_set& fused() const { return fused_; }

  /// Adds an input: a tensor that the caller passes to each run.
  [[nodiscard]] tensor input(std::string name, const tensor_spec& spec) const {
    return {graph_->add_input(std::move(name), spec), spec};
  }
  /// Adds an input with one row for each sample.
  [[nodiscard]] tensor samples(std::string name, const tensor_spec& spec) const {
    return {graph_->add_input(std::move(name), spec, true), spec};
  }
  /// Returns the tensor of the graph with this index.
  [[nodiscard]] tensor value(value_id id) const { return {id, graph_->spec(id)}; }
  /// Makes a tensor an output of each run.
  void output(std::string name, const tensor& value) const {
    graph_->add_output(std::move(name), value.id());
  }

  /// Sets the value that an input has after each run. It may be the input itself.
  void next(const tensor& input, const tensor& value) const {
    if (value.id() != input.id()) {
      graph_->set_next(input.id(), value.id());
    }
  }

  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const;
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const;
  [[nodiscard]] tensor from_host(std::span<const std::int32_t> values, const shape& s) const;
  /// Always throws `value_error`, because a recorded tensor has no elements yet.
  template <class Number>
  void to_host(const tensor& x, std::span<Number>) const {
    throw value_error(text("recorder: a tensor ", x.shape(),
                           " has no elements while a description is recorded; what depends on its "
                           "numbers must be an op, or run on a backend that runs at once"));
  }

  template <kernel K, std::same_as<tensor>... Operands>
  requires(sizeof...(Operands) == K::operands)
      [[nodiscard]] results_t<K, tensor> run(const K& k, const Operands&... operands) const {
    std::array<tensor, K::results> results;
    record(k, {operands.id()...}, results);
    if constexpr (K::results == 1) {
      return results[0];
    } else {
      return results;
    }
  }

  // Sets the place (layer and phase) of all nodes that are recorded after this call; see graph.
  void set_place(std::string_view name, step_phase phase = step_phase::forward) const {
    graph_->set_place(graph_place{std::string(name), phase});
  }
  void set_place(std::uint32_t number) const { graph_->set_place(number); }
  /// Sets the place of gradient nodes: the layer of place `number`, and the backward phase.
  void set_adjoint_place(std::uint32_t number) const {
    graph& calls = *graph_;
    calls.set_place(graph_place{calls.places()[number].name, step_phase::backward});
  }
  [[nodiscard]] std::uint32_t place() const { return graph_->place(); }

 private:
  void record(const any_kernel& k, std::vector<value_id> operands, std::span<tensor> results) const;
  template <class T>
  [[nodiscard]] tensor constant(const tensor_spec& spec, std::vector<T> values) const;

  std::shared_ptr<graph> graph_;
  fused_kernel_set fused_;
};

template <>
inline constexpr bool runs_basic_kernels<recorder> = true;

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/graph/recorder_impl.hpp"
#endif
