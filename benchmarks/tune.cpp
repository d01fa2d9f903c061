// Prints where the ways to a matrix product meet on this machine, beside what the code assumes.
//
//   build/benchmarks/tune [--threads 2] [--rounds 30] [--isa avx2]
//
// Times are the least of some rounds, of the ways in turn; run it on a quiet machine. A constant
// that is wrong here may be right elsewhere: change it only for what several kinds of processor
// ask.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <glia/backends/cpu/products.hpp>
#include <glia/testing/values.hpp>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace glia;
using namespace glia::cpu_loops;

struct product {
  matmul_sizes size;
  transpose which;
};

// The perceptron's, forward and backward, the convolutional network's dense layer, a square one.
const std::vector<product> shapes{
    {{100, 400, 784}, transpose::none},    {{100, 400, 400}, transpose::none},
    {{100, 500, 400}, transpose::none},    {{784, 400, 100}, transpose::first},
    {{400, 400, 100}, transpose::first},   {{100, 400, 500}, transpose::second},
    {{100, 400, 400}, transpose::second},  {{1024, 256, 1568}, transpose::none},
    {{1568, 256, 1024}, transpose::first}, {{1024, 1024, 1024}, transpose::none}};
const std::vector<double> densities{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7};

template <class Work>
double microseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

host_tensor<float> filled(const memory_pool& pool, std::size_t n, std::uint32_t stream,
                          double density) {
  const std::vector<float> values = testing::test_values({n}, stream);
  host_tensor<float> result(pool, {n});
  for (std::size_t i = 0; i < n; ++i) {
    result.data()[i] = random_bits({.seed = 5}, i) * 0x1p-32 < density ? values[i] : 0.0F;
  }
  return result;
}

/// The density at which the lists take as long as `dense`, by straight lines between those
/// measured.
std::optional<double> crossover(const std::vector<double>& lists, double dense) {
  for (std::size_t i = 1; i < lists.size(); ++i) {
    if (lists[i - 1] < dense && lists[i] >= dense) {
      const double part = (dense - lists[i - 1]) / (lists[i] - lists[i - 1]);
      return densities[i - 1] + part * (densities[i] - densities[i - 1]);
    }
  }
  return std::nullopt;
}

template <class Kernels>
void report(const Kernels& kernels, const workers& team, std::size_t rounds) {
  using sparse = sparse_product<float, Kernels>;
  using dense = dense_product<float, Kernels>;
  const cpu_loops::products<float> blas_way(team);
  std::printf("%-22s %9s %9s  lists at density", "product (us)", "panels", "BLAS");
  for (const double d : densities) {
    std::printf(" %7.1f", d);
  }
  std::printf("   meet at  code    dense by (code)\n");
  const memory_pool pool;
  for (const auto& [s, which] : shapes) {
    const bool ta = which == transpose::first;
    const bool tb = which == transpose::second;
    const host_tensor<float> whole = filled(pool, s.m * s.k, 1, 1);
    const host_tensor<float> right = filled(pool, s.k * s.n, 2, 1);
    const host_tensor<float> c(pool, {s.m, s.n});
    const matrix<float> a{whole.data(), ta ? s.m : s.k, ta};
    const matrix<float> b{right.data(), tb ? s.k : s.n, tb};
    std::vector<host_tensor<float>> thin;
    for (const double d : densities) {
      thin.push_back(filled(pool, s.m * s.k, 1, d));
    }
    double panels = std::numeric_limits<double>::max();
    double blas = panels;
    std::vector<double> lists(densities.size(), panels);
    for (std::size_t round = 0; round < rounds; ++round) {
      panels = std::min(
          panels, microseconds([&] { dense::multiply(kernels, team, a, b, c.data(), s, {}); }));
      blas =
          std::min(blas, microseconds([&] { blas_way.multiply_by_blas(a, b, c.data(), s, {}); }));
      for (std::size_t i = 0; i < densities.size(); ++i) {
        const matrix<float> left{thin[i].data(), a.row_step, ta};
        bool done = false;
        lists[i] = std::min(lists[i], microseconds([&] {
                              done =
                                  sparse::multiply(kernels, team, pool, left, b, c.data(), s, {});
                            }));
        if (!done) {
          std::fprintf(stderr, "tune: a product of finite matrices was refused\n");
        }
      }
    }
    const bool ours = dense::preferred(team, s);
    const auto meet = crossover(lists, ours ? panels : blas);
    std::printf("%4zu x %4zu x %4zu%-4s %9.0f %9.0f                  ", s.m, s.k, s.n,
                ta   ? " T."
                : tb ? " .T"
                     : "",
                panels, blas);
    for (const double us : lists) {
      std::printf(" %7.0f", us);
    }
    std::printf("   %7s  %4.2f    %s (%s)\n",
                meet ? text(static_cast<double>(static_cast<int>(*meet * 100)) / 100).c_str() : "-",
                sparse::worthwhile_density, panels <= blas ? "panels" : "BLAS",
                ours ? "panels" : "BLAS");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t threads = 2;
  std::size_t rounds = 30;
  std::string isa_name = "best";
  CLI::App app{"Prints where the ways to a matrix product meet on this machine"};
  app.add_option("--threads", threads);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  app.add_option("--isa", isa_name)->check(CLI::IsMember({"best", "avx2", "baseline"}));
  CLI11_PARSE(app, argc, argv);

  const isa level = isa_name == "best"   ? best_isa()
                    : isa_name == "avx2" ? std::min(isa::avx2, best_isa())
                                         : isa::baseline;
  const workers team(threads, level);
  constexpr const char* names[] = {"baseline", "AVX2", "AVX-512"};
  std::printf("instruction set %s, %zu threads, OpenBLAS %s %s\n", names[static_cast<int>(level)],
              threads, openblas_get_corename != nullptr ? openblas_get_corename() : "unknown",
              team.blas_fits() ? "(fits)" : "(has no kernels for this processor: not used)");
  with_isa(level, [&](auto kernels) { report(kernels, team, rounds); });
}
