#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "glia/core/error.hpp"
#include "glia/pjrt/c_api.hpp"
#include "glia/pjrt/options.hpp"
#include "glia/stablehlo/module.hpp"

namespace glia::detail {

/// Returns XLA's CompileOptionsProto for a number of devices, from 1 to 127. XLA splits the graph
/// among them according to the shardings of its arguments. The message contains
/// executable_build_options (field 3) with num_replicas (4) = 1, num_partitions (5) and
/// use_spmd_partitioning (6).
[[nodiscard]] inline std::string compile_options(std::size_t devices) {
  constexpr std::size_t max_devices = 127;  // the largest number of one byte
  require<value_error>(devices > 0 && devices <= max_devices, "pjrt: expected 1 to ", max_devices,
                       " devices, got ", devices);
  using namespace std::string_literals;
  std::string options = "\x1a\x04\x20\x01\x28"s + static_cast<char>(devices);
  if (devices > 1) {
    options += "\x30\x01";
    options[1] = 6;
  }
  return options;
}

/// Returns the options for StableHLO modules with real numbers of type T.
template <std::floating_point T>
[[nodiscard]] stablehlo::module_options module_options_for(product_precision precision,
                                                           std::size_t devices) {
  return {.real = std::same_as<T, double> ? stablehlo::scalar::f64 : stablehlo::scalar::f32,
          .precision = precision == product_precision::full ? "HIGHEST" : "DEFAULT",
          .devices = devices};
}

/// Wraps the text of a module for the C API. The result refers to the text.
[[nodiscard]] inline pjrt_api::program program_of(std::string& module) {
  constexpr std::string_view format = "mlir";
  pjrt_api::program result;
  result.code = module.data();
  result.code_size = module.size();
  result.format = format.data();
  result.format_size = format.size();
  return result;
}

}  // namespace glia::detail
