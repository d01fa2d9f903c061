#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace glia::detail {

/// The binary logarithm of a size in bytes that exceeds the memory of all machines with this size
/// of addresses. Sums and small multiples of smaller sizes do not overflow with 64 bits.
inline constexpr std::size_t max_memory_bits =
    std::min(56, std::numeric_limits<std::ptrdiff_t>::digits);

}  // namespace glia::detail
