#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "glia/core/error.hpp"
#include "glia/core/memory_pool.hpp"
#include "glia/core/readable_file.hpp"

namespace glia::detail {

/// Required alignment of the offset in the file, in bytes.
inline constexpr std::size_t mapped_block_alignment = 64;

/// Maps a part of a file as a block of writable memory. Writing copies the page and does not change
/// the file. Until the block is released, the file must not be truncated or overwritten.
///
/// Throws `data_error`, with the file's name, if the file cannot be read. Throws `value_error` if
/// the offset is not aligned or the part exceeds the file.
[[nodiscard]] inline memory_block map_block(const readable_file& file, std::size_t offset,
                                            std::size_t bytes) {
  require<value_error>(offset % mapped_block_alignment == 0 && bytes > 0 && offset <= file.size() &&
                           bytes <= file.size() - offset,
                       "map_block: cannot map ", bytes, " bytes at offset ", offset, " of ",
                       file.path().string(), ", which has ", file.size(), " bytes");
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t page_offset = offset % page;
  // One extra page before the data, for the header that a block has in front of its bytes.
  const std::size_t length = page + page_offset + bytes;
  void* const region =
      mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require<data_error>(region != MAP_FAILED, file.path().string(),
                      ": not enough address space to map ", bytes, " of its bytes");
  auto* const begin = static_cast<std::byte*>(region);
  try {
    file.map(offset - page_offset, page_offset + bytes, PROT_READ | PROT_WRITE, begin + page);
  } catch (...) {
    munmap(region, length);
    throw;
  }
  return memory_block::taken_over(begin + page + page_offset, bytes,
                                  [](void* memory, std::size_t size) noexcept {
                                    const auto address = reinterpret_cast<std::size_t>(memory);
                                    const std::size_t lead = page + address % page;
                                    munmap(static_cast<std::byte*>(memory) - lead, lead + size);
                                  });
}

}  // namespace glia::detail
