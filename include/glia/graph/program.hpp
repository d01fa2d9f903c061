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
#include "glia/graph/kernel_functions.hpp"
#include "glia/graph/timeline.hpp"

namespace glia {

/// A backend that compiles whole graphs itself. It specializes the class template `program`, whose
/// members the specialization must have.
template <class B>
concept compiling_backend = backend<B> && requires(const B& b, const graph& calls) {
  b.compiled(calls);
  { b.compilations() } -> std::same_as<compilations>;
};

/// A backend on which graphs run as a whole. On other backends, models run kernel by kernel.
template <class B>
concept program_backend = placing_backend<B> || compiling_backend<B>;

/// A compiled graph: a graph that is ready to run on a device, any number of times. The function
/// for each node and the memory of every value are planned in advance, so a run allocates only its
/// results. Any number of threads can run it at the same time. Copies refer to the same compiled
/// graph. Compiling backends specialize this class.
template <backend B>
class program {
 public:
  using tensor = typename B::tensor;

  /// Plans the graph for a device. Throws `value_error` if there is no function for one of its
  /// kernels.
  program(graph calls, B device);

  /// Returns the graph.
  [[nodiscard]] const graph& calls() const noexcept;
  /// Returns the device.
  [[nodiscard]] const B& device() const noexcept;
  /// Returns the memory that a run needs in addition to its inputs and outputs, in bytes.
  [[nodiscard]] std::size_t scratch_bytes() const noexcept;
  /// Returns the memory that all lanes together need for batch tiles during a run, in bytes.
  [[nodiscard]] std::size_t lane_bytes() const noexcept;

  /// Inputs that are appended to the inputs passed to `run`. Equal non-zero versions promise
  /// identical tensors, so rebinding is skipped.
  struct fixed_inputs {
    std::span<const tensor> tensors{};
    std::uint64_t version = 0;
  };

  /// Runs the graph. `inputs` are the tensors of its inputs, in their order. If an input has a next
  /// value, the run replaces the input's tensor with it. The memory is reused if the tensor has no
  /// other handles. The results are assigned to `outputs`.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
           const fixed_inputs& fixed = {}) const;

  /// A function that is called with the results of a node.
  using probe_function =
      function_ref<void(const graph_node&, std::span<const tensor* const> results)>;

  /// Runs the graph, with a probe and a timeline, either of which may be null. The probe is called
  /// with the results of every node that does not run on batch tiles. Times are added to the
  /// timeline.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs, const fixed_inputs& fixed,
           const probe_function* probe, timeline* times = nullptr) const;

  /// A function that is called when an output is complete and no later node of the run reads its
  /// memory.
  using finished_function = function_ref<void(std::size_t output)>;

  /// Runs the graph and writes the outputs to existing tensors. `finished` is called for each
  /// output as soon as it is complete, while the rest is being computed.
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
