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
  std::vector<float> values = std::vector<float>(5000);

  file_of_floats() {
    std::iota(values.begin(), values.end(), 1.0F);
    std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    folder.write("floats", bytes);
  }
};

}  // namespace

TEST_CASE("a part of a file is a block of memory, whose changes are its own") {
  const file_of_floats source;
  const std::string content = test::file_content(source.path);
  // Within a page, at its beginning and end, over several, and to the end of the file.
  for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                     {0, 5000},
                                     {16, 1008},
                                     {1008, 16},
                                     {1024, 2000},
                                     {2064, 2936},
                                     {4992, 8}}) {
    INFO(first << ", " << count);
    const glia::detail::readable_file file(source.path);
    glia::memory_block block = glia::detail::map_block(file, first * 4, count * 4);
    const glia::memory_block second_block = glia::detail::map_block(file, first * 4, count * 4);
    auto* const values = static_cast<float*>(block.data());
    CHECK(std::vector<float>(values, values + count) ==
          std::vector<float>(source.values.begin() + static_cast<std::ptrdiff_t>(first),
                             source.values.begin() + static_cast<std::ptrdiff_t>(first + count)));
    CHECK(block.unique());
    {
      const glia::memory_block shared = block;
      CHECK_FALSE(block.unique());
    }
    CHECK(block.unique());
    std::fill_n(values, count, -1.0F);
    CHECK(static_cast<float*>(second_block.data())[count - 1] == static_cast<float>(first + count));
    block = {};
  }
  CHECK(test::file_content(source.path) == content);
}

TEST_CASE("a block outlives the file that it is a part of, by name and by descriptor") {
  const file_of_floats source;
  glia::memory_block block;
  {
    const glia::detail::readable_file file(source.path);
    block = glia::detail::map_block(file, 4096, 8192);
  }
  std::filesystem::remove(source.path);
  CHECK(static_cast<float*>(block.data())[2047] == 3072);
}

TEST_CASE("parts that no block can be are refused") {
  const file_of_floats source;
  const glia::detail::readable_file file(source.path);
  for (const auto& [offset, bytes] : {std::pair<std::size_t, std::size_t>{4, 64},
                                      {0, 0},
                                      {0, 20001},
                                      {20032, 64},
                                      {64, static_cast<std::size_t>(-1)}}) {
    INFO(offset << ", " << bytes);
    CHECK_THROWS_AS(glia::detail::map_block(file, offset, bytes), glia::value_error);
  }
}
