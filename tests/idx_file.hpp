#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace test {

/// The bytes of an IDX file of the given extents and element bytes.
inline std::vector<std::uint8_t> idx_file(std::initializer_list<std::uint32_t> extents,
                                          const std::vector<std::uint8_t>& values) {
  std::vector<std::uint8_t> file{0, 0, 8, static_cast<std::uint8_t>(extents.size())};
  for (std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      file.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

}  // namespace test
