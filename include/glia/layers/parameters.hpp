#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/initializer.hpp"

namespace glia {

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

/// Adds an input for each parameter of a model to the graph that `to` records. Returns these inputs
/// as parameters.
[[nodiscard]] inline parameter_list as_inputs(const recorder& to,
                                              const parameter_list& parameters) {
  parameter_list result;
  for (const parameter& p : parameters) {
    result.push_back({p.spec, to.input(p.spec.name, real_of(p.spec.shape))});
  }
  return result;
}

// Streams of random numbers: parameter i uses stream i, layers use the streams from layer_streams
// on in training, shuffling uses the last stream.
/// The first stream of random numbers for layers in training.
inline constexpr std::uint32_t layer_streams = 0x40000000;
/// The stream of random numbers for shuffling.
inline constexpr std::uint32_t shuffle_stream = 0xFFFFFFFF;

/// Creates parameters on `device`. Their initial values depend on `seed` and are the same on every
/// device. Throws `value_error` if there is not enough memory.
[[nodiscard]] inline parameter_list make_parameters(const std::vector<parameter_spec>& specs,
                                                    const glia::device& device,
                                                    std::uint64_t seed) {
  parameter_list result;
  std::vector<float> values;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const shape& extents = specs[i].shape;
    if (memory_block there = specs[i].initial.in_place()) {
      result.push_back({specs[i], device.from_block(there, extents)});
      continue;
    }
    const auto no_memory = [&] {
      auto bytes = static_cast<double>(device.real_bytes());
      for (const std::size_t extent : extents) {
        bytes *= static_cast<double>(extent);
      }
      return value_error(text("model: not enough memory for the parameter '", specs[i].name, "' ",
                              extents, ", which needs ", bytes / 1e9, " GB"));
    };
    if (!fits_memory(extents, sizeof(double))) {
      throw no_memory();
    }
    try {
      values.resize(extents.size());
      random_stream random({.seed = seed, .stream = static_cast<std::uint32_t>(i)});
      specs[i].initial(values, extents, random);
      result.push_back({specs[i], device.from_host(std::span<const float>(values), extents)});
    } catch (const std::bad_alloc&) {
      throw no_memory();
    } catch (const std::length_error&) {
      throw no_memory();
    }
  }
  return result;
}

}  // namespace glia
