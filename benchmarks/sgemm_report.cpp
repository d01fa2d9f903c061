// Measures what this machine gives at best: OpenBLAS's single-precision product of large matrices
// on the given number of threads. Prints one JSON line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <glia/backends/cpu/isa/blas.hpp>
#include <glia/backends/cpu/products/gemm.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

int main(int argc, char** argv) {
  int threads = 2;
  std::size_t size = 2048;
  int rounds = 5;
  CLI::App app{"Measures the single-precision matrix product"};
  app.add_option("--threads", threads);
  app.add_option("--size", size);
  app.add_option("--rounds", rounds);
  CLI11_PARSE(app, argc, argv);

  if (glia::cpu_loops::blas().set_threads != nullptr) {
    glia::cpu_loops::blas().set_threads(threads);
  }
  std::vector<float> a(size * size, 0.5F);
  std::vector<float> b(size * size, 0.25F);
  std::vector<float> c(size * size);
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    glia::cpu_loops::gemm<float>(size, size, size, {a.data(), size}, {b.data(), size}, 0.0F,
                                 c.data(), size);
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const auto n = static_cast<double>(size);
  std::cout << nlohmann::json{{"gflops", 2 * n * n * n / best / 1e9},
                              {"threads", threads},
                              {"blas", glia::cpu_loops::blas_name()}}
            << '\n';
}
