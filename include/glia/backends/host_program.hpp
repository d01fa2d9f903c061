#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "glia/backends/program.hpp"
#include "glia/core/inline.hpp"

namespace glia {

class host_memory_backend;

/// A graph compiled for a device in host memory. The function for each node and the memory of every
/// value are planned in advance.
class host_program final : public executable {
 public:
  /// Plans the graph. Throws `value_error` if there is no function for one of its kernels.
  host_program(graph calls, std::shared_ptr<const host_memory_backend> backend);
  GLIA_INLINE ~host_program() override;

  GLIA_INLINE void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
                       const fixed_inputs& fixed, const probe_function* probe,
                       timeline* times) const override;
  GLIA_INLINE void run_into(std::span<tensor* const> inputs, std::span<const tensor> outputs,
                            const finished_function& finished, timeline* times) const override;
  [[nodiscard]] GLIA_INLINE std::size_t scratch_bytes() const override;
  [[nodiscard]] GLIA_INLINE std::size_t lane_bytes() const override;

 private:
  struct step;
  struct workspace;
  struct state;
  class lease;

  using outputs_function = function_ref<void(std::span<const std::size_t> outputs)>;

  void run_steps(workspace& w, const probe_function* probe, const outputs_function* finished,
                 timeline* times) const;

  std::unique_ptr<const state> state_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/backends/host_program_impl.hpp"
#endif
