#include <cstddef>
#include <glia/backends/cpu.hpp>
#include <glia/backends/cpu/products/blas_check.hpp>
#include <glia/testing/bench.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// The text that a function prints on std::cerr.
template <class F>
std::string printed_errors(const F& f) {
  const std::ostringstream text;
  std::streambuf* const buffer = std::cerr.rdbuf(text.rdbuf());
  f();
  std::cerr.rdbuf(buffer);
  return text.str();
}

/// Products of matrices of ones that the baseline loops leave to BLAS: a large product, and a 1 x 1
/// convolution with its gradients.
std::vector<double> products(const glia::device& device) {
  glia::testing::detail::bench b(device, false);
  const auto ones = [&](const glia::shape& s) { return device.run(kernels::full{s, 1}); };
  const kernels::conv2d convolution{{.height = 1, .width = 1}, 1};
  b.out(device.run(kernels::matmul{}, ones({512, 600}), ones({600, 50})));
  b.out(device.run(kernels::conv2d_kernel_gradient{convolution.window, 1}, ones({2, 30, 20, 8}),
                   ones({2, 30, 20, 4})));
  b.out(device.run(convolution, ones({2, 30, 20, 8}), ones({1, 1, 8, 4}), glia::tensor{}));
  return b.outputs();
}

/// Numbers that are equal, as all of them are here.
void add(std::vector<double>& numbers, std::size_t count, double value) {
  numbers.insert(numbers.end(), count, value);
}

template <class T>
void check_products(const std::string& type) {
  CHECK_FALSE(glia::cpu_loops::blas_multiplies<T>());
  std::vector<double> expected;
  add(expected, std::size_t{512} * 50, 600);
  add(expected, std::size_t{8} * 4, 1200);
  add(expected, std::size_t{1200} * 4, 8);
  const std::string printed = printed_errors([&] {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
      const glia::cpu<T> device({.threads = threads, .isa = glia::cpu_loops::isa::baseline});
      CHECK(products(device) == expected);
    }
  });
  CHECK(printed.find("computes wrong products of " + type + " matrices") != std::string::npos);
  CHECK(printed.find("glia: ") == printed.rfind("glia: "));
}

}  // namespace

TEST_CASE("a BLAS that computes wrong products is reported once and not used") {
  check_products<float>("float");
  check_products<double>("double");
}

TEST_CASE("loops that never call BLAS do not check it") {
  using glia::cpu_loops::blas_use;
  using glia::cpu_loops::isa;
  const std::string printed = printed_errors(
      [] { CHECK(glia::cpu_loops::use_of_blas<float>(isa::avx512) == blas_use::slower); });
  CHECK(printed.empty());
  CHECK(glia::cpu_loops::use_of_blas<float>(isa::baseline) == blas_use::wrong);
}
