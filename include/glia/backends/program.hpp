#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "glia/backends/device.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/timeline.hpp"

namespace glia {

/// Inputs of a run that are appended to its other inputs. Equal non-zero versions promise identical
/// tensors, so they need not be checked again.
struct fixed_inputs {
  std::span<const tensor> tensors{};
  std::uint64_t version = 0;
};

/// A function that is called with the results of a node.
using probe_function =
    function_ref<void(const graph_node&, std::span<const tensor* const> results)>;

/// A function that is called when an output is complete and no later node of the run reads its
/// memory.
using finished_function = function_ref<void(std::size_t output)>;

/// The interface of a graph that a backend has compiled. Programs use it through `program`.
class executable {
 public:
  explicit executable(graph calls) : calls_(std::move(calls)) {}
  executable(const executable&) = delete;
  executable& operator=(const executable&) = delete;
  virtual ~executable() = default;

  [[nodiscard]] const graph& calls() const noexcept { return calls_; }

  /// Runs the graph; see program::run.
  virtual void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
                   const fixed_inputs& fixed, const probe_function* probe,
                   timeline* times) const = 0;

  // The following member functions are optional.

  /// Runs the graph and writes the outputs to existing tensors; see program::run_into. Default:
  /// throws `value_error`.
  GLIA_INLINE virtual void run_into(std::span<tensor* const> inputs,
                                    std::span<const tensor> outputs,
                                    const finished_function& finished, timeline* times) const;
  /// Returns the host memory that a run needs in addition to its inputs and outputs, in bytes.
  [[nodiscard]] virtual std::size_t scratch_bytes() const { return 0; }
  /// Returns the host memory that all lanes together need for batch tiles during a run, in bytes.
  [[nodiscard]] virtual std::size_t lane_bytes() const { return 0; }

 protected:
  /// Throws `value_error` or `shape_error` unless the tensors fit the inputs of the graph.
  void require_fitting(std::size_t input, const tensor& value) const;
  void require_counts(std::size_t inputs, std::size_t outputs) const;

 private:
  graph calls_;
};

/// A compiled graph: a graph that is ready to run on a device, any number of times. The memory of
/// every value is planned in advance, so on the devices in host memory a run allocates only its
/// results. Any number of threads can run it at the same time. Copies refer to the same compiled
/// graph.
class program {
 public:
  /// Compiles the graph for a device. Throws `value_error` if the device cannot run one of its
  /// kernels.
  program(graph calls, const glia::device& device)
      : device_(device), executable_(device.implementation().compile(std::move(calls))) {}

  /// Returns the graph.
  [[nodiscard]] const graph& calls() const noexcept { return executable_->calls(); }
  /// Returns the device.
  [[nodiscard]] const glia::device& device() const noexcept { return device_; }
  /// Returns the host memory that a run needs in addition to its inputs and outputs, in bytes.
  [[nodiscard]] std::size_t scratch_bytes() const { return executable_->scratch_bytes(); }
  /// Returns the host memory that all lanes together need for batch tiles during a run, in bytes.
  [[nodiscard]] std::size_t lane_bytes() const { return executable_->lane_bytes(); }

  /// Runs the graph. `inputs` are the tensors of its inputs, in their order. If an input has a next
  /// value, the run replaces the input's tensor with it. The memory is reused if the tensor has no
  /// other handles. The results are assigned to `outputs`. Throws `value_error` for another number
  /// of inputs or outputs than that of the graph and for a tensor of another device, and
  /// `shape_error` for a tensor of another shape than the input with which the graph was recorded.
  ///
  /// `probe`, unless it is null, is called with the results of every node that does not run on
  /// batch tiles. Times are added to the timeline, unless it is null.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
           const fixed_inputs& fixed = {}, const probe_function* probe = nullptr,
           timeline* times = nullptr) const {
    executable_->run(inputs, outputs, fixed, probe, times);
  }

  /// Runs the graph and writes the outputs to existing tensors in host memory. `finished` is called
  /// for each output as soon as it is complete, while the rest is being computed.
  void run_into(std::span<tensor* const> inputs, std::span<const tensor> outputs,
                const finished_function& finished, timeline* times = nullptr) const {
    executable_->run_into(inputs, outputs, finished, times);
  }

 private:
  glia::device device_;
  std::shared_ptr<const executable> executable_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/program_impl.hpp"
#endif
