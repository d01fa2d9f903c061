#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/initializer.hpp"

namespace glia {

class recorder;

/// The description of a parameter without its values.
struct parameter_spec {
  std::string name;     ///< Name, unique within a model: conv2d_0.kernel.
  glia::shape shape;    ///< Shape of the values.
  initializer initial;  ///< Initializer of the values.
  /// Whether an optimizer updates the values; false for running statistics and inside of `frozen`.
  bool trainable = true;
};

/// A parameter of a model on a device: its description and its values.
struct parameter {
  parameter_spec spec;  ///< Name, shape, initializer, and whether it is trained.
  tensor value;         ///< Values on the device.
};

/// The parameters of a model in the order in which its layers request them.
using parameter_list = std::vector<parameter>;

namespace detail {

/// Returns whether a text fits a pattern in which "*" stands for any characters.
[[nodiscard]] bool fits_pattern(std::string_view pattern, std::string_view name);
/// Returns whether a path fits the name of a parameter: it is the name, the beginning of the name
/// up to a dot, or empty. A "*" stands for any characters.
[[nodiscard]] bool fits_path(std::string_view path, std::string_view name);

/// Adds an input for each parameter of a model to the graph that `target` records. Returns these
/// inputs as parameters.
[[nodiscard]] parameter_list as_inputs(const recorder& target, const parameter_list& parameters);

// Streams of random numbers: parameter i uses stream i, layers use the streams from layer_streams
// on in training, shuffling uses the last stream.
/// The first stream of random numbers for layers in training.
inline constexpr std::uint32_t layer_streams = 0x40000000;
/// The stream of random numbers for shuffling.
inline constexpr std::uint32_t shuffle_stream = 0xFFFFFFFF;

/// Creates parameters on `device`. Their initial values depend on `seed` and are the same on every
/// device. Throws `value_error` if there is not enough memory.
[[nodiscard]] parameter_list make_parameters(const std::vector<parameter_spec>& specs,
                                             const glia::device& device, std::uint64_t seed);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/layers/parameters_impl.hpp"
#endif
