// Prints where the ways to a matrix product, and to a convolution's gradients, meet on this
// machine, beside what the code assumes.
//
//   build/benchmarks/tune [--threads 2] [--rounds 30] [--isa avx2]
//   build/benchmarks/tune --grid [--bfloat16] [--transposed first] [--threads 1] [--isa avx2]
//
// With --grid, it prints products of 210 sizes as a table: the share of the processor's peak that
// glia's loops reach, and how many times as fast as BLAS they are. With --bfloat16 as well, it
// compares products in bfloat16 with those in single precision.
//
// Times are the least of some rounds, of the ways in turn; run it on a quiet machine. A constant
// that is wrong here may be right elsewhere: change it only for what several kinds of processor
// ask.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <glia/backends/bfloat16.hpp>
#include <glia/backends/cpu/convolution/convolution.hpp>
#include <glia/backends/cpu/isa/blas.hpp>
#include <glia/backends/cpu/products/blas_check.hpp>
#include <glia/backends/cpu/products/products.hpp>
#include <glia/testing/values.hpp>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace glia;
using namespace glia::cpu_loops;

struct product {
  kernels::matmul_sizes size;
  transpose transposed_factor;
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

detail::host_tensor<float> filled(const memory_pool& pool, std::size_t n, std::uint32_t stream,
                                  double density) {
  const std::vector<float> values = testing::test_values({n}, stream);
  detail::host_tensor<float> result(pool, {n});
  for (std::size_t i = 0; i < n; ++i) {
    result.data()[i] = detail::random_bits({.seed = 5}, i) * 0x1p-32 < density ? values[i] : 0.0F;
  }
  return result;
}

/// The density at which lists take as long as `dense`, by straight lines through the times at
/// `points`, the last of which goes on beyond it; "-" where they do not meet.
std::string crossover(const std::vector<double>& points, const std::vector<double>& lists,
                      double dense) {
  for (std::size_t i = 1; i < lists.size(); ++i) {
    const bool last = i + 1 == lists.size();
    if (lists[i - 1] < dense && lists[i - 1] < lists[i] && (lists[i] >= dense || last)) {
      const double part = (dense - lists[i - 1]) / (lists[i] - lists[i - 1]);
      const double density = points[i - 1] + part * (points[i] - points[i - 1]);
      return density < 1 ? text(static_cast<double>(static_cast<int>(density * 100)) / 100) : "-";
    }
  }
  return "-";
}

void print_densities(const char* title, const std::vector<double>& values) {
  std::printf("%-22s", title);
  for (const double d : values) {
    std::printf(" %7.2f", d);
  }
}
void print_times(const std::vector<double>& lists) {
  for (const double us : lists) {
    std::printf(" %7.0f", us);
  }
}

template <class Loops>
void report_products(const Loops& loops, const workers& team, std::size_t rounds) {
  using sparse = sparse_product<float, Loops>;
  using dense = dense_product<float, Loops>;
  const cpu_loops::products<float> blas_way(team);
  print_densities("product, lists (us)", densities);
  std::printf("   panels    BLAS   meet at  code    dense by (code)\n");
  const memory_pool pool;
  for (const auto& [s, transposed_factor] : shapes) {
    const bool ta = transposed_factor == transpose::first;
    const bool tb = transposed_factor == transpose::second;
    const detail::host_tensor<float> whole = filled(pool, s.m * s.k, 1, 1);
    const detail::host_tensor<float> right = filled(pool, s.k * s.n, 2, 1);
    const detail::host_tensor<float> c(pool, {s.m, s.n});
    const matrix<float> a{whole.data(), ta ? s.m : s.k, ta};
    const matrix<float> b{right.data(), tb ? s.k : s.n, tb};
    std::vector<detail::host_tensor<float>> thin;
    for (const double d : densities) {
      thin.push_back(filled(pool, s.m * s.k, 1, d));
    }
    double panels = std::numeric_limits<double>::max();
    double blas = panels;
    std::vector<double> lists(densities.size(), panels);
    for (std::size_t round = 0; round < rounds; ++round) {
      panels = std::min(
          panels, microseconds([&] { dense::multiply(loops, team, pool, a, b, c.data(), s, {}); }));
      blas =
          std::min(blas, microseconds([&] { blas_way.multiply_by_blas(a, b, c.data(), s, {}); }));
      for (std::size_t i = 0; i < densities.size(); ++i) {
        const matrix<float> left{thin[i].data(), a.row_step, ta};
        bool done = false;
        lists[i] = std::min(lists[i], microseconds([&] {
                              done = sparse::multiply(loops, team, pool, left, b, c.data(), s, {});
                            }));
        if (!done) {
          std::fprintf(stderr, "tune: a product of finite matrices was refused\n");
        }
      }
    }
    const bool ours = dense::preferred(team, s);
    std::printf("%4zu x %4zu x %4zu%-4s ", s.m, s.k, s.n, ta ? " T." : tb ? " .T" : "");
    print_times(lists);
    std::printf(" %8.0f %7.0f   %7s  %4.2f    %s (%s)\n", panels, blas,
                crossover(densities, lists, ours ? panels : blas).c_str(),
                sparse::worthwhile_density, panels <= blas ? "panels" : "BLAS",
                ours ? "panels" : "BLAS");
    std::fflush(stdout);
  }
}

/// The most multiplications and additions a second, in GFLOP, of one thread: sums in registers that
/// do not wait for each other.
template <class Vector>
[[gnu::always_inline]] inline double peak_of_vectors() {
  constexpr std::size_t count = 12;
  constexpr std::size_t rounds = 4'000'000;
  Vector sums[count];
  for (std::size_t i = 0; i < count; ++i) {  // different numbers, so that no sum is left out
    sums[i] = Vector{} + static_cast<float>(i);
  }
  const Vector factor = Vector{} + 0.5F;
  const double us = microseconds([&]() __attribute__((always_inline)) {
    for (std::size_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 12
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] = sums[i] * factor + factor;
      }
    }
  });
  Vector total{};
  for (const Vector& sum : sums) {
    total += sum;
  }
  const volatile float result = total[0];  // so that the sums are computed
  static_cast<void>(result);
  return 2.0 * sizeof(Vector) / sizeof(float) * count * rounds / us / 1e3;
}
using four_floats [[gnu::vector_size(16)]] = float;
#if defined(__x86_64__)
using eight_floats [[gnu::vector_size(32)]] = float;
using sixteen_floats [[gnu::vector_size(64)]] = float;
[[gnu::target("avx2,fma")]] double peak_of_avx2() { return peak_of_vectors<eight_floats>(); }
[[gnu::target("avx512f,fma")]] double peak_of_avx512() { return peak_of_vectors<sixteen_floats>(); }
#endif
double measured_peak([[maybe_unused]] isa level) {
#if defined(__x86_64__)
  if (level == isa::avx512) {
    return peak_of_avx512();
  }
  if (level == isa::avx2) {
    return peak_of_avx2();
  }
#endif
  return peak_of_vectors<four_floats>();
}
double peak(isa level) {
  double most = 0;
  for (int round = 0; round < 10; ++round) {
    most = std::max(most, measured_peak(level));
  }
  return most;
}

/// A way to compute a product.
struct product_way {
  std::string name;
  std::function<void(const matrix<float>&, const matrix<float>&, float*,
                     const kernels::matmul_sizes&)>
      multiply;
};

/// Products of 210 sizes as a table in Markdown: one way beside another.
void report_grid(const workers& team, transpose transposed_factor, const product_way& own,
                 const product_way& other) {
  const std::vector<std::size_t> rows{1, 4, 16, 64, 256, 1024, 4096};
  const std::vector<std::size_t> depths{16, 64, 256, 784, 1024, 4096};
  const std::vector<std::size_t> columns{16, 64, 256, 1000, 4096};
  const bool ta = transposed_factor == transpose::first;
  const bool tb = transposed_factor == transpose::second;
  const double most = peak(team.level()) * static_cast<double>(team.threads());
  const memory_pool pool;
  const detail::host_tensor<float> left = filled(pool, 4096 * 4096, 1, 1);
  const detail::host_tensor<float> right = filled(pool, 4096 * 4096, 2, 1);
  const detail::host_tensor<float> c(pool, {4096 * 4096});
  std::printf(
      "Peak of single precision: %.0f GFLOP/s. Each cell: share of the peak, times the speed of "
      "%s.\n\n",
      most, other.name.c_str());
  std::printf("| k x n |");
  for (const std::size_t m : rows) {
    std::printf(" m = %zu |", m);
  }
  std::printf("\n| --- |");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::printf(" --- |");
  }
  std::printf("\n");
  std::vector<double> ratios;
  for (const std::size_t k : depths) {
    for (const std::size_t n : columns) {
      std::printf("| %zu x %zu |", k, n);
      for (const std::size_t m : rows) {
        const kernels::matmul_sizes s{m, n, k};
        const matrix<float> a{left.data(), ta ? m : k, ta};
        const matrix<float> b{right.data(), tb ? k : n, tb};
        const double gflop = 2e-9 * static_cast<double>(m) * static_cast<double>(n * k);
        // Short products are repeated, about 20 us long, since the clock takes a part of their
        // time.
        const auto times = static_cast<std::size_t>(std::max(1.0, 20e-6 * 100 / gflop));
        double of_own = std::numeric_limits<double>::max();
        double of_other = of_own;
        double spent = 0;
        for (int round = 0; round < 3 || spent < 30e3; ++round) {
          const auto time_of = [&](const product_way& way) {
            return microseconds([&] {
              for (std::size_t i = 0; i < times; ++i) {
                way.multiply(a, b, c.data(), s);
              }
            });
          };
          of_own = std::min(of_own, time_of(own));
          of_other = std::min(of_other, time_of(other));
          spent += of_own + of_other;
        }
        ratios.push_back(of_other / of_own);
        std::printf(" %.2f, %.2f |", gflop * static_cast<double>(times) / of_own * 1e6 / most,
                    ratios.back());
        std::fflush(stdout);
      }
      std::printf("\n");
    }
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf(
      "\nTimes the speed of %s: least %.2f, a twentieth is below %.2f, median %.2f; %td of %zu "
      "are below 0.97.\n",
      other.name.c_str(), ratios.front(), ratios[ratios.size() / 20], ratios[ratios.size() / 2],
      std::lower_bound(ratios.begin(), ratios.end(), 0.97) - ratios.begin(), ratios.size());
}

/// Gradients of outputs (N, H, W, O), dense and, up to where the code lists them, with fewer
/// nonzeros.
void report_gradients(const workers& team, std::size_t rounds) {
  const std::vector<double> gradient_densities{0.05, 0.1, 0.2, 0.3, 0.34};
  const std::vector<std::pair<shape, shape>> images_and_kernels{{{100, 14, 14, 64}, {2, 2, 64, 32}},
                                                                {{32, 28, 28, 32}, {3, 3, 32, 64}}};
  const memory_pool pool;
  const cpu_loops::convolution<float> convolution(team);
  std::printf("\n");
  print_densities("gradients, lists (us)", gradient_densities);
  std::printf("    dense   meet at  code\n");
  for (const auto& [images, kernel] : images_and_kernels) {
    const window2d window{.height = kernel[0], .width = kernel[1]};
    const kernels::window_sizes s = kernels::conv2d_rule(images, kernel, window, 1);
    const detail::host_tensor<float> x = filled(pool, images.size(), 1, 1);
    const detail::host_tensor<float> w = filled(pool, kernel.size(), 2, 1);
    const detail::host_tensor<float> dx(pool, images);
    const detail::host_tensor<float> dw(pool, kernel);
    std::vector<detail::host_tensor<float>> dy;
    for (const double d : gradient_densities) {
      dy.push_back(filled(pool, s.output().size(), 3, d));
    }
    dy.push_back(filled(pool, s.output().size(), 3, 1));
    std::vector<double> input_times(dy.size(), std::numeric_limits<double>::max());
    std::vector<double> kernel_times = input_times;
    for (std::size_t round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < dy.size(); ++i) {
        input_times[i] =
            std::min(input_times[i], microseconds([&] {
                       convolution.input_gradient(dy[i].data(), w.data(), dx.data(), s, pool);
                     }));
        kernel_times[i] =
            std::min(kernel_times[i], microseconds([&] {
                       convolution.kernel_gradient(x.data(), dy[i].data(), dw.data(), s, pool);
                     }));
      }
    }
    for (auto& [times, name] : {std::pair{&input_times, "input"}, {&kernel_times, "kernel"}}) {
      const double dense = times->back();
      times->pop_back();
      std::printf("%zux%zu, %zu to %zu, %-6s", kernel[0], kernel[1], kernel[2], kernel[3], name);
      print_times(*times);
      std::printf(" %8.0f   %7s  %4.2f\n", dense,
                  crossover(gradient_densities, *times, dense).c_str(),
                  sparse_convolution<float>::worthwhile_density);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t threads = 2;
  std::size_t rounds = 30;
  std::string chosen_isa = "best";
  bool grid = false;
  bool rounded = false;
  transpose transposed_factor = transpose::none;
  CLI::App app{"Prints where ways to compute the same meet on this machine"};
  app.add_option("--threads", threads);
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber);
  app.add_option("--isa", chosen_isa)->check(CLI::IsMember({"best", "avx2", "baseline"}));
  app.add_flag("--grid", grid, "products of 210 sizes");
  app.add_option("--transposed", transposed_factor, "factor of the grid")
      ->transform(CLI::CheckedTransformer(std::map<std::string, transpose>{
          {"first", transpose::first}, {"second", transpose::second}}));
  app.add_flag("--bfloat16", rounded, "the grid in bfloat16, beside products in single precision");
  CLI11_PARSE(app, argc, argv);

  const isa level = chosen_isa == "best"   ? best_isa()
                    : chosen_isa == "avx2" ? std::min(isa::avx2, best_isa())
                                           : isa::baseline;
  const workers team(threads, level, grid && rounded ? cpu_products(bfloat16) : cpu_products(),
                     use_of_blas<float>(level) == blas_use::used);
  std::printf("instruction set %s, %zu threads, BLAS %s %s\n", isa_name(level).data(), threads,
              cpu_loops::blas_name().data(), team.blas_fits() ? "(used)" : "(not used)");
  if (grid) {
    const memory_pool pool;
    const cpu_loops::products<float> products(team);
    const product_way by_blas{"BLAS", [&](const auto& a, const auto& b, float* c, const auto& s) {
                                products.multiply_by_blas(a, b, c, s, {});
                              }};
    const product_way by_panels{
        "products in single precision", [&](const auto& a, const auto& b, float* c, const auto& s) {
          with_isa(level, [&](auto loops) {
            dense_product<float, decltype(loops)>::multiply(loops, team, pool, a, b, c, s, {});
          });
        }};
    const product_way by_words{
        "products in bfloat16", [&](const auto& a, const auto& b, float* c, const auto& s) {
          team.rounded<float>()->multiply(team, pool, a, b, c, s, {}, nullptr);
        }};
    report_grid(team, transposed_factor, rounded ? by_words : by_panels,
                rounded ? by_panels : by_blas);
    return 0;
  }
  with_isa(level, [&](auto loops) { report_products(loops, team, rounds); });
  report_gradients(team, rounds);
}
