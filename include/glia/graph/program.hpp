#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/graph/compilations.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/runners.hpp"
#include "glia/graph/timeline.hpp"

namespace glia {

/// A backend that makes a program of its own of a whole graph: see program for what it must give.
template <class B>
concept compiling_backend = backend<B> && requires(const B& b, const graph& calls) {
  b.compiled(calls);
  { b.compilations() } -> std::same_as<compilations>;
};

/// A backend on which graphs run as a whole. On others, models run kernel by kernel.
template <class B>
concept program_backend = placing_backend<B> || compiling_backend<B>;

/// A graph made ready to run on a backend in host memory, again and again: which function runs each
/// kernel, and where every tensor lies, is settled. A run allocates its results from the backend's
/// pool and nothing else. Any number of threads may run a program side by side; copies share it.
/// Compiling backends specialise it.
template <backend B>
class program {
 public:
  using tensor = typename B::tensor;

  /// Throws `value_error` where there is no function for one of the kernels.
  program(graph calls, const runners<B>& how, B device);

  [[nodiscard]] const graph& calls() const noexcept;
  [[nodiscard]] const B& device() const noexcept;
  /// What a run needs beside its inputs and outputs.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
  /// What the lanes of its stretches need then, all of them together.
  [[nodiscard]] std::size_t lane_bytes() const noexcept;

  /// Tensors that are the inputs behind those that a run is given. What has the same version, which
  /// is not 0, has the same tensors.
  struct fixed_inputs {
    std::span<const tensor> tensors{};
    std::uint64_t version = 0;
  };

  /// Runs the graph. `inputs` are the tensors of its inputs, in their order; those that have a next
  /// value are replaced by it, in their own memory where nobody else holds it. `outputs` are
  /// written.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
           const fixed_inputs& fixed = {}) const;

  /// Looks at what a kernel gave.
  using probe_function =
      function_ref<void(const graph_node&, std::span<const tensor* const> results)>;

  /// The same with a look at what each kernel gave, though not within stretches, if there is a
  /// probe, and with times written down if there is a timeline.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times = nullptr) const;

  /// Told that an output has its numbers, and that no later kernel of the run reads its memory.
  using finished_function = function_ref<void(std::size_t output)>;

  /// The same with outputs written into tensors that are there already, and with word of each as
  /// soon as it is, while the rest is computed.
  void run_into(std::span<tensor* const> inputs, std::span<const tensor> outputs,
                finished_function finished, timeline* times = nullptr) const;

 private:
  struct step;
  struct workspace;
  struct state;
  class lease;

  using outputs_function = function_ref<void(std::span<const std::size_t> outputs)>;

  void run_steps(workspace& w, const probe_function* probe, const outputs_function* finished,
                 timeline* times) const;

  std::shared_ptr<const state> state_;
};

}  // namespace glia

#include "glia/graph/program_impl.hpp"
