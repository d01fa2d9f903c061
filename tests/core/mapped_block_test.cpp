#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <glia/core/mapped_block.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

namespace {

struct file_of_floats {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "floats";
  std::vector<float> all = std::vector<float>(5000);

  file_of_floats() {
    std::iota(all.begin(), all.end(), 1.0F);
    std::vector<std::uint8_t> bytes(all.size() * sizeof(float));
    std::memcpy(bytes.data(), all.data(), bytes.size());
    folder.write("floats", bytes);
  }
};

}  // namespace

TEST_CASE("a part of a file is a block of memory, whose changes are its own") {
  const file_of_floats from;
  const std::string before = test::file_content(from.path);
  // Within a page, at its beginning and end, over several, and to the end of the file.
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                     {0, 5000},
                                     {16, 1008},
                                     {1008, 16},
                                     {1024, 2000},
                                     {2064, 2936},
                                     {4992, 8}}) {
    INFO(first << ", " << count);
    const glia::detail::readable_file file(from.path);
    glia::memory_block one = glia::detail::map_block(file, first * 4, count * 4);
    const glia::memory_block other = glia::detail::map_block(file, first * 4, count * 4);
    auto* const values = static_cast<float*>(one.data());
    CHECK(std::vector<float>(values, values + count) ==
          std::vector<float>(from.all.begin() + static_cast<std::ptrdiff_t>(first),
                             from.all.begin() + static_cast<std::ptrdiff_t>(first + count)));
    CHECK(one.unique());
    {
      const glia::memory_block shared = one;
      CHECK_FALSE(one.unique());
    }
    CHECK(one.unique());
    std::fill_n(values, count, -1.0F);
    CHECK(static_cast<float*>(other.data())[count - 1] == static_cast<float>(first + count));
    one = {};
  }
  CHECK(test::file_content(from.path) == before);
}

TEST_CASE("a block outlives the file that it is a part of, by name and by descriptor") {
  const file_of_floats from;
  glia::memory_block block;
  {
    const glia::detail::readable_file file(from.path);
    block = glia::detail::map_block(file, 4096, 8192);
  }
  std::filesystem::remove(from.path);
  CHECK(static_cast<float*>(block.data())[2047] == 3072);
}

TEST_CASE("parts that no block can be are refused") {
  const file_of_floats from;
  const glia::detail::readable_file file(from.path);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{4, 64},
                                      {0, 0},
                                      {0, 20001},
                                      {20032, 64},
                                      {64, static_cast<std::size_t>(-1)}}) {
    INFO(offset << ", " << bytes);
    CHECK_THROWS_AS(glia::detail::map_block(file, offset, bytes), glia::value_error);
  }
}
