#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/function_ref.hpp"

namespace glia::detail {

/// The compiled inference graphs of a description, for one batch size.
struct inference_programs {
  program fixed;    ///< Computes the values that depend only on the parameters.
  program varying;  ///< Computes the outputs of a batch from these values.
  std::atomic<std::uint64_t> versions{0};

  /// Compiles a recorded graph. Its inputs are `varying_count` tensors that vary from run to run,
  /// such as the samples, followed by the parameters in their order.
  [[nodiscard]] static std::shared_ptr<inference_programs> make(
      const recorder& recorded, const glia::device& device, std::size_t rows, bool depth_first,
      const function_ref<void(graph&)>* quantize = nullptr, std::size_t varying_count = 1);

  inference_programs(program fixed_part, program varying_part)
      : fixed(std::move(fixed_part)), varying(std::move(varying_part)) {}
};

}  // namespace glia::detail
