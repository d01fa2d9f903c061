#include <glia/backends/about.hpp>
#include <glia/backends/cpu/isa/blas.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

TEST_CASE("OpenBLAS's names of processors with AVX2 are known, in any case of letters") {
  using glia::cpu_loops::has_avx2_kernels;
  for (const char* name : {"Haswell", "HASWELL", "Zen", "ZEN", "SkylakeX", "SKYLAKEX", "Cooperlake",
                           "SapphireRapids"}) {
    CAPTURE(name);
    CHECK(has_avx2_kernels(name));
  }
  for (const char* name : {"", "Prescott", "Nehalem", "Sandybridge", "Zen2x", "Haswel"}) {
    CAPTURE(name);
    CHECK_FALSE(has_avx2_kernels(name));
  }
}

TEST_CASE("about names glia, the machine and BLAS, one on a line") {
  std::istringstream text(glia::about());
  std::vector<std::string> names;
  std::string value;
  for (std::string line; std::getline(text, line);) {
    const std::size_t separator = line.find(": ");
    REQUIRE(separator != std::string::npos);
    names.push_back(line.substr(0, separator));
    value = line.substr(separator + 2);
    CHECK_FALSE(value.empty());
  }
  CHECK(names ==
        std::vector<std::string>{"glia", "processor", "instruction set", "threads", "BLAS"});
  // The last line gives the reason for what it says.
#ifdef GLIA_BLAS_NONE
  CHECK(value == "none; glia's loops compute all products");
#else
  CHECK(value.find("; ") != std::string::npos);
#endif
}
