#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

namespace glia {

/// A block of memory, and the first and the last step of a compiled graph that need it.
struct lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The offset of each block in a common memory, and the size of this memory.
struct memory_layout {
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};

/// Assigns offsets to blocks so that blocks which are needed at the same time do not overlap.
/// Larger blocks are placed first, and each block gets the lowest possible offset. Blocks begin at
/// cache lines.
[[nodiscard]] inline memory_layout lay_out(std::span<const lifetime> blocks) {
  constexpr std::size_t alignment = 64;
  const auto aligned = [](std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  std::vector<std::size_t> by_size(blocks.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  memory_layout result{std::vector<std::size_t>(blocks.size()), 0};
  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t block : by_size) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      const bool together =
          blocks[other].first <= blocks[block].last && blocks[block].first <= blocks[other].last;
      if (together && result.offsets[other] < offset + aligned(blocks[block].bytes)) {
        offset = std::max(offset, result.offsets[other] + aligned(blocks[other].bytes));
      }
    }
    result.offsets[block] = offset;
    result.bytes = std::max(result.bytes, offset + aligned(blocks[block].bytes));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block,
                                   [&](std::size_t a, std::size_t b) {
                                     return result.offsets[a] < result.offsets[b];
                                   }),
                  block);
  }
  return result;
}

}  // namespace glia
