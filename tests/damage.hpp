#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <glia/core/error.hpp>
#include <glia/core/random.hpp>
#include <vector>

namespace test {

/// A copy of a file that is cut, has a bit flipped, a byte changed, bytes taken out or others of
/// its own put in: another one for each number. Every second one in its first `head` bytes.
[[nodiscard]] inline std::vector<std::uint8_t> damaged(std::vector<std::uint8_t> file,
                                                       std::uint32_t number,
                                                       std::size_t head = SIZE_MAX) {
  constexpr std::size_t max_count = 50;
  glia::random_stream random({.seed = 6, .step = number});
  const std::size_t range = number % 2 == 0 ? std::min(head, file.size()) : file.size();
  const std::size_t offset = random.integer(range);
  const auto place = file.begin() + static_cast<std::ptrdiff_t>(offset);
  const std::size_t count = 1 + random.integer(max_count);
  switch (random.integer(5)) {
    case 0:
      file.resize(offset);
      break;
    case 1:
      *place = static_cast<std::uint8_t>(*place ^ (1U << random.integer(8)));
      break;
    case 2:
      *place = static_cast<std::uint8_t>(random.integer(256));
      break;
    case 3:
      file.erase(place, place + static_cast<std::ptrdiff_t>(std::min(count, file.size() - offset)));
      break;
    default:
      file.insert(place, count, file[random.integer(file.size())]);
  }
  return file;
}

/// Of 1,000 damaged copies of these files, how many are read. `read(copy)` reads one and checks
/// what it says; `data_error` is as good an answer, any other is passed on.
template <class Read>
std::size_t damaged_copies_read(const std::vector<std::vector<std::uint8_t>>& files,
                                const Read& read, std::size_t head = SIZE_MAX) {
  std::size_t count = 0;
  for (std::uint32_t number = 0; number < 1000; ++number) {
    try {
      read(damaged(files[number % files.size()], number, head));
      ++count;
    } catch (const glia::data_error&) {
    }
  }
  return count;
}

}  // namespace test
