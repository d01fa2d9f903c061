#include <zlib.h>

#include <cstring>
#include <glia/io/npz.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/arrays.hpp"

namespace {

constexpr std::size_t max_bytes = 1 << 20;

std::uint32_t number_at(fuzz::byte_view file, std::size_t offset, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    value |= static_cast<std::uint32_t>(file[offset + i]) << (8 * i);
  }
  return value;
}

/// Puts the sums of arrays that are not compressed where they belong.
void seal(std::span<std::uint8_t> file) {
  constexpr std::size_t central = 46;
  constexpr std::size_t local = 30;
  for (std::size_t offset = 0; offset + central <= file.size(); ++offset) {
    if (std::memcmp(file.data() + offset, "PK\x01\x02", 4) != 0) {
      continue;
    }
    const std::size_t size = number_at(file, offset + 20, 4);
    const std::size_t head = number_at(file, offset + 42, 4);
    if (number_at(file, offset + 10, 2) != 0 || head + local > file.size()) {
      continue;
    }
    const std::size_t first =
        head + local + number_at(file, head + 26, 2) + number_at(file, head + 28, 2);
    if (first + size <= file.size()) {
      const auto sum =
          static_cast<std::uint32_t>(crc32(0, file.data() + first, static_cast<uInt>(size)));
      std::memcpy(file.data() + offset + 16, &sum, 4);
      std::memcpy(file.data() + head + 14, &sum, 4);
    }
  }
}

glia::tensor_map read(fuzz::byte_view file) {
  return fuzz::read_source_within(
      {.for_each_byte = 64, .fixed = 12 * max_bytes}, file,
      [](const auto& source) { return glia::read_npz(source, {.max_bytes = max_bytes}); });
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::npz(); }

void fuzz::check(byte_view file) {
  const glia::tensor_map arrays = read(file);
  std::vector<test::zip_entry> entries;
  for (const auto& [name, values] : arrays) {
    std::string shape = "(";
    for (const std::size_t extent : values.shape()) {
      shape += std::to_string(extent) + ",";
    }
    const auto head = test::npy_file(test::npy_header("<f4", shape + ")"), 0, 1000);
    const auto* elements = reinterpret_cast<const char*>(values.data());
    entries.push_back(
        {name + ".npy",
         std::string(head.begin(), head.end()).append(elements, values.size() * sizeof(float))});
  }
  const glia::tensor_map reread = without_error([&] { return read(test::zipped(entries)); });
  require(reread.size() == arrays.size(), "there are not as many arrays in what was written of it");
  for (const auto& [name, values] : arrays) {
    const auto& actual = reread.at(name);
    require(actual.shape() == values.shape() &&
                (values.size() == 0 ||
                 std::memcmp(actual.data(), values.data(), values.size() * sizeof(float)) == 0),
            "what was read is not what was written of it");
  }
}

// Half of the changes leave sums that fit.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::change_and_seal(data, size, max_size, seed, seal);
}
