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
#include "glia/graph/runners.hpp"

namespace glia {

/// A backend that computes nothing: it records kernels as nodes of a graph, which is later compiled
/// for the backend B. Code that uses a recorder runs once for each shape, not once for each batch.
///
/// Tensors from `from_host` are constants; tensors that vary from run to run are `input`s. Copies
/// record into the same graph. Do not use a recorder from several threads at the same time.
template <class B>
class recorder {
 public:
  using value_type = typename B::value_type;

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

  recorder() : recording_(std::make_shared<recording>()) {}

  [[nodiscard]] std::string_view name() const { return "recorder"; }
  [[nodiscard]] const graph& recorded() const { return recording_->calls; }
  [[nodiscard]] graph& recorded() { return recording_->calls; }
  /// Returns the functions with which B runs the kernels of the graph, and the kernels by which
  /// passes may replace them.
  [[nodiscard]] const runners<B>& how() const { return recording_->how; }

  /// Registers a kernel type that passes may put into the graph, and the types by which passes may
  /// replace it.
  template <kernel K>
  void expect() const {
    recording_->how.template add<K>();
  }

  /// Adds an input: a tensor that the caller passes to each run.
  [[nodiscard]] tensor input(std::string name, const tensor_spec& spec) const {
    return {recording_->calls.add_input(std::move(name), spec), spec};
  }
  /// Adds an input with one row for each sample.
  [[nodiscard]] tensor samples(std::string name, const tensor_spec& spec) const {
    return {recording_->calls.add_input(std::move(name), spec, true), spec};
  }
  /// Returns the tensor of the graph with this index.
  [[nodiscard]] tensor value(value_id id) const { return {id, recording_->calls.spec(id)}; }
  /// Makes a tensor an output of each run.
  void output(std::string name, const tensor& value) const {
    recording_->calls.add_output(std::move(name), value.id());
  }

  /// Sets the value that an input has after each run. It may be the input itself.
  void next(const tensor& input, const tensor& value) const {
    if (value.id() != input.id()) {
      recording_->calls.set_next(input.id(), value.id());
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
  requires(sizeof...(Operands) == K::operands && (is_basic<K> || runs<B, K>))
      [[nodiscard]] results_t<K, tensor> run(const K& k, const Operands&... operands) const {
    std::array<tensor, K::results> results;
    recording_->how.template add<K>();
    record(k, {operands.id()...}, results);
    if constexpr (K::results == 1) {
      return results[0];
    } else {
      return results;
    }
  }

  // Sets the place (layer and phase) of all nodes that are recorded after this call; see graph.
  void set_place(std::string_view name, step_phase phase = step_phase::forward) const {
    recording_->calls.set_place(graph_place{std::string(name), phase});
  }
  void set_place(std::uint32_t number) const { recording_->calls.set_place(number); }
  /// Sets the place of gradient nodes: the layer of place `number`, and the backward phase.
  void set_adjoint_place(std::uint32_t number) const {
    graph& calls = recording_->calls;
    calls.set_place(graph_place{calls.places()[number].name, step_phase::backward});
  }
  [[nodiscard]] std::uint32_t place() const { return recording_->calls.place(); }

 private:
  struct recording {
    graph calls;
    runners<B> how;
  };

  void record(const any_kernel& k, std::vector<value_id> operands, std::span<tensor> results) const;
  template <class T>
  [[nodiscard]] tensor constant(const tensor_spec& spec, std::vector<T> values) const;

  std::shared_ptr<recording> recording_;
};

template <class B>
inline constexpr bool runs_basic_kernels<recorder<B>> = true;

template <class B>
typename recorder<B>::tensor recorder<B>::from_host(std::span<const float> values,
                                                    const shape& s) const {
  return constant(real_of(s), std::vector<double>(values.begin(), values.end()));
}
template <class B>
typename recorder<B>::tensor recorder<B>::from_host(std::span<const double> values,
                                                    const shape& s) const {
  return constant(real_of(s), std::vector<double>(values.begin(), values.end()));
}
template <class B>
typename recorder<B>::tensor recorder<B>::from_host(std::span<const std::int32_t> values,
                                                    const shape& s) const {
  return constant({s, element::index}, std::vector<std::int32_t>(values.begin(), values.end()));
}

template <class B>
void recorder<B>::record(const any_kernel& k, std::vector<value_id> operands,
                         std::span<tensor> results) const {
  const graph_node& node = recording_->calls.add(k, std::move(operands));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const value_id id = node.results[i];
    results[i] = id == no_value ? tensor{} : tensor{id, recording_->calls.spec(id)};
  }
}

template <class B>
template <class T>
typename recorder<B>::tensor recorder<B>::constant(const tensor_spec& spec,
                                                   std::vector<T> values) const {
  require<shape_error>(values.size() == spec.shape.size(), "from_host: ", values.size(),
                       " values do not match the shape ", spec.shape);
  return {recording_->calls.add_constant(spec, std::move(values)), spec};
}

/// A backend type for recorders that only compute shapes and costs. Their graphs are never run.
struct shapes_only {
  using value_type = float;
  struct tensor {};
};

}  // namespace glia
