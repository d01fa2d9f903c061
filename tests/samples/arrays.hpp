#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "io/array_files.hpp"

namespace test::samples {

[[nodiscard]] inline std::vector<std::vector<std::uint8_t>> npy() {
  std::vector<std::vector<std::uint8_t>> files{
      npy_file(npy_header("<f4", "(2, 3)"), 24), npy_file(npy_header("<f8", "(3,)"), 24, 70),
      npy_file(npy_header("|b1", "()"), 1, 70), npy_file(npy_header("<i8", "(2, 0)"), 0, 70)};
  for (const char* elements : {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<u8"}) {
    files.push_back(npy_file(npy_header(elements, "(4,)"),
                             4 * static_cast<std::size_t>(elements[2] - '0'), 64));
  }
  files.push_back(
      npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1, 3), }", 24, 80));
  for (auto& file : files) {
    // Other elements than zeros, small enough for any type.
    for (std::size_t i = 10 + file[8]; i < file.size(); i += 8) {
      file[i] = static_cast<std::uint8_t>(i % 61);
    }
  }
  return files;
}

[[nodiscard]] inline std::vector<std::vector<std::uint8_t>> npz() {
  return {zipped({{"a.npy", npy_file({1, 2})}}),
          zipped({{"weights.npy", npy_file({1, -2, 3})}, {"layer/bias.npy", npy_file({5}), true}}),
          zipped({{"long.npy", npy_file(std::vector<float>(300, 2.5F)), true}}), zipped({})};
}

[[nodiscard]] inline std::vector<std::vector<std::uint8_t>> safetensors() {
  const auto zeros = [](std::size_t count) { return std::vector<std::uint8_t>(count, 1); };
  std::vector<std::uint8_t> integer = zeros(14);  // and three halves
  std::fill_n(integer.begin() + 1, 7, std::uint8_t{0});
  return {safetensors_file(R"({"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})", zeros(8)),
          safetensors_file(R"({"__metadata__":{"format":"pt"},)"
                           R"("b":{"dtype":"F64","shape":[2],"data_offsets":[0,16]},)"
                           R"("a":{"dtype":"F16","shape":[],"data_offsets":[16,18]},)"
                           R"("none":{"dtype":"F32","shape":[0,7],"data_offsets":[18,18]}}   )",
                           zeros(18)),
          safetensors_file(R"({"x":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]},)"
                           R"("y\u00e4":{"dtype":"I64","shape":[1,1,1],"data_offsets":[0,8]}})",
                           integer),
          safetensors_file("{}", {})};
}

}  // namespace test::samples
