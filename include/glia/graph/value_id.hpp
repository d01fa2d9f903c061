#pragma once

#include <cstdint>
#include <limits>

namespace glia {

/// The index of a value. A value is a tensor of a graph.
using value_id = std::uint32_t;
/// The index that stands for an omitted operand.
inline constexpr value_id no_value = std::numeric_limits<value_id>::max();

}  // namespace glia
