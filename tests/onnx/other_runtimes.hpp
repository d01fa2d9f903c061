#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

namespace test {

/// What another runtime, onnxruntime or openvino, gives for a batch by the network of a file.
inline std::vector<float> run_by(const std::string& runtime, const std::string& python,
                                 const std::filesystem::path& file, const xt::xarray<float>& x) {
  const temporary_folder scratch;
  const std::filesystem::path input = scratch.path() / "x";
  const std::filesystem::path output = scratch.path() / "y";
  std::ofstream(input, std::ios::binary)
      .write(reinterpret_cast<const char*>(x.data()),
             static_cast<std::streamsize>(x.size() * sizeof(float)));
  const auto ran =
      run_python(python, "run_onnx.py", {file.string(), input.string(), output.string(), runtime});
  INFO(ran.output);
  REQUIRE(ran.status == 0);
  const std::string written = file_content(output);
  std::vector<float> y(written.size() / sizeof(float));
  REQUIRE(written.size() == y.size() * sizeof(float));
  std::copy(written.begin(), written.end(), reinterpret_cast<char*>(y.data()));
  return y;
}

}  // namespace test
