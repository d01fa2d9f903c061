// Measures what this machine gives at best: OpenBLAS's single-precision product of large matrices
// on the given number of threads, and how long a cache line takes from one core to another. Prints
// one JSON line.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <glia/backends/cpu/isa/blas.hpp>
#include <glia/backends/cpu/products/gemm.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Two threads write a number in turns: the median of many measurements, because both threads may
/// begin on one core. On processors with several dies, the time depends on the cores that the
/// system gives them.
double transfer_nanoseconds() {
  constexpr int turns = 1000;
  constexpr int measurements = 101;
  std::atomic<int> turn{0};
  const auto take_turns = [&](int first, int end) {
    for (int i = first; i < end; i += 2) {
      for (int spins = 0; turn.load(std::memory_order_acquire) != i; ++spins) {
        if (spins > 10000) {
          std::this_thread::yield();  // both threads may have one core
        }
      }
      turn.store(i + 1, std::memory_order_release);
    }
  };
  std::thread other([&] { take_turns(1, measurements * turns); });
  std::vector<double> times;
  for (int i = 0; i < measurements; ++i) {
    const auto start = std::chrono::steady_clock::now();
    take_turns(i * turns, (i + 1) * turns);
    times.push_back(1e9 * seconds_since(start) / turns);
  }
  other.join();
  std::nth_element(times.begin(), times.begin() + measurements / 2, times.end());
  return times[measurements / 2];
}

}  // namespace

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
    best = std::min(best, seconds_since(start));
  }
  const auto n = static_cast<double>(size);
  std::cout << nlohmann::json{{"gflops", 2 * n * n * n / best / 1e9},
                              {"transfer_ns", threads > 1 ? transfer_nanoseconds() : 0},
                              {"threads", threads},
                              {"blas", glia::cpu_loops::blas_name()}}
            << '\n';
}
