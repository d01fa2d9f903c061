#include <glia/data/idx.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/data_files.hpp"

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::idx(); }

void fuzz::check(byte_view file) {
  const glia::idx_bytes read = read_within({.for_each_byte = 6, .fixed = 64 << 10}, file,
                                           [](const auto& path) { return glia::read_idx(path); });
  // There is one way only to write it.
  bytes rewritten{0, 0, 8, static_cast<std::uint8_t>(read.extents.rank())};
  for (const std::size_t extent : read.extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      rewritten.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  rewritten.insert(rewritten.end(), read.values.begin(), read.values.end());
  require(std::equal(rewritten.begin(), rewritten.end(), file.begin(), file.end()),
          "what was read is not what the file says");
}
