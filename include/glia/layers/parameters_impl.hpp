#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/parameters.hpp"

namespace glia::detail {

GLIA_INLINE bool fits_pattern(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return pattern == name;
  }
  if (!name.starts_with(pattern.substr(0, star))) {
    return false;
  }
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t end = star; end <= name.size(); ++end) {
    if (fits_pattern(rest, name.substr(end))) {
      return true;
    }
  }
  return false;
}

GLIA_INLINE bool fits_path(std::string_view path, std::string_view name) {
  const bool complete = path.empty() || path.ends_with('.');
  return fits_pattern(path, name) || fits_pattern(text(path, complete ? "*" : ".*"), name);
}

GLIA_INLINE parameter_list as_inputs(const recorder& target, const parameter_list& parameters) {
  parameter_list result;
  for (const parameter& p : parameters) {
    result.push_back({p.spec, target.input(p.spec.name, real_of(p.spec.shape))});
  }
  return result;
}

GLIA_INLINE parameter_list make_parameters(const std::vector<parameter_spec>& specs,
                                           const glia::device& device, std::uint64_t seed) {
  parameter_list result;
  std::vector<float> values;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const shape& extents = specs[i].shape;
    if (const shared_floats known = specs[i].initial.in_place(); !known.values.empty()) {
      result.push_back({specs[i], device.from_memory(known, extents)});
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
    } catch (const memory_error&) {
      throw no_memory();
    }
  }
  return result;
}

}  // namespace glia::detail
