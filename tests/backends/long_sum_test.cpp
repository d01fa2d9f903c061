#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <glia/backends/cpu.hpp>
#include <glia/backends/long_sum.hpp>
#include <glia/backends/reference.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

// Every sum of many numbers keeps the bound that long_sum.hpp states, on every instruction set, in
// the same bits for any number of threads.

namespace {

enum class content : std::uint8_t { constant, random };

template <class T>
std::vector<T> numbers(content distribution, std::size_t count, std::uint64_t seed) {
  std::vector<T> values(count, T(0.1));
  if (distribution == content::random) {
    for (T& x : values) {
      seed = seed * 6364136223846793005U + 1442695040888963407U;
      x = static_cast<T>(static_cast<double>(seed >> 33U) * 0x1p-31 * 1.5 - 0.5);
    }
  }
  return values;
}

/// A sum as it should be, and that of its terms' magnitudes.
struct exact_sum {
  void add(long double term) {
    value += term;
    magnitude += std::abs(term);
  }
  long double value = 0;
  long double magnitude = 0;
};

/// visit(name, bound, what it should be, run): run(device) gives a tensor and an index of it.
template <class T, class Visit>
void for_each_reduction(content distribution, std::size_t n, const Visit& visit) {
  using glia::shape;
  constexpr T sum = glia::detail::sum_error<T>;
  constexpr T product = glia::detail::product_error<T>;
  // All of these devices are in host memory, and numbers are copied there once.
  const glia::reference<T> home;
  std::vector<std::tuple<const std::vector<T>*, shape, glia::tensor>> known;
  const auto put = [&](const auto&, const std::vector<T>& values, const shape& s) {
    for (const auto& [numbers_of, shape_of, tensor] : known) {
      if (numbers_of == &values && shape_of == s) {
        return tensor;
      }
    }
    known.emplace_back(&values, s, home.from_host(std::span<const T>(values), s));
    return std::get<2>(known.back());
  };
  const auto sum_of = [](const std::vector<T>& values, std::size_t first, std::size_t step) {
    exact_sum result;
    for (std::size_t i = first; i < values.size(); i += step) {
      result.add(values[i]);
    }
    return result;
  };
  const auto dot_of = [](const std::vector<T>& a, std::size_t at_a, std::size_t step_a,
                         const std::vector<T>& b, std::size_t at_b, std::size_t step_b) {
    exact_sum result;
    for (; at_a < a.size(); at_a += step_a, at_b += step_b) {
      result.add(static_cast<long double>(a[at_a]) * b[at_b]);
    }
    return result;
  };
  const std::size_t side = static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
  const std::size_t pixels = side * side;
  const std::vector<T> terms = numbers<T>(distribution, n, 1);
  const std::vector<T> matrix = numbers<T>(distribution, 3 * n, 2);
  const std::vector<T> image(matrix.begin(),
                             matrix.begin() + static_cast<std::ptrdiff_t>(3 * pixels));
  const auto sum_to = [&](const shape& source, const shape& target, const std::vector<T>& values,
                          std::size_t index) {
    return [&, source, target, index](const auto& device) {
      return std::pair(device.run(kernels::sum_to{target}, put(device, values, source)), index);
    };
  };

  visit("sum of all", sum, sum_of(terms, 0, 1), sum_to({n}, {}, terms, 0));
  visit("sum of columns", sum, sum_of(matrix, 1, 3), sum_to({n, 3}, {3}, matrix, 1));
  visit(
      "sum of rows", sum,
      [&] {
        exact_sum result;
        for (std::size_t i = 0; i < n; i += 2) {
          result.add(terms[i]);
        }
        return result;
      }(),
      sum_to({n / 2, 2}, {2}, terms, 0));
  visit(
      "sum of runs", sum,
      [&] {
        exact_sum result;
        for (std::size_t i = 0; i < n; ++i) {
          if (i / 5 % 2 == 1) {
            result.add(terms[i]);
          }
        }
        return result;
      }(),
      sum_to({n / 10, 2, 5}, {2, 1}, terms, 1));
  visit(
      "sum of rows apart", sum,
      [&] {
        exact_sum result;
        for (std::size_t i = 0; i < n; ++i) {
          if (i / 5 % 2 == 1 && i % 5 == 2) {
            result.add(terms[i]);
          }
        }
        return result;
      }(),
      sum_to({n / 10, 2, 5}, {2, 5}, terms, 7));
  visit(
      "pooling of all pixels, times their number", sum, sum_of(image, 1, 3),
      [&](const auto& device) {
        const glia::window2d window{.height = side, .width = side};
        const auto y =
            device.run(kernels::avg_pool2d{window}, put(device, image, {1, side, side, 3}));
        return std::pair(
            device.run(
                kernels::unary{{glia::unary_function::affine, static_cast<double>(pixels), 0}}, y),
            std::size_t{1});
      });
  {
    std::vector<std::int32_t> indices(n);
    exact_sum second;
    for (std::size_t i = 0; i < n; ++i) {
      indices[i] = i % 5 == 4 ? 0 : i % 3 == 0 ? 7 : 1;
      if (indices[i] == 1) {
        second.add(matrix[3 * i + 2]);
      }
    }
    visit("rows added by index", sum, second, [&](const auto& device) {
      const auto row_indices = device.from_host(std::span<const std::int32_t>(indices), shape{n});
      return std::pair(
          device.run(kernels::scatter_add{2}, put(device, matrix, {n, 3}), row_indices),
          std::size_t{5});
    });
  }

  visit("gradient of a dense kernel", product, dot_of(matrix, 2, 3, matrix, 1, 3),
        [&](const auto& device) {
          const auto x = put(device, matrix, {n, 3});
          return std::pair(device.run(kernels::matmul{glia::transpose::first}, x, x),
                           std::size_t{7});
        });
  visit("product of a row and a column", product, dot_of(terms, 0, 1, terms, 0, 1),
        [&](const auto& device) {
          return std::pair(
              device.run(kernels::matmul{}, put(device, terms, {1, n}), put(device, terms, {n, 1})),
              std::size_t{0});
        });
  {
    const std::size_t rows = n / 16;
    std::vector<T> wide(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(16 * rows));
    for (std::size_t i = 0; i < wide.size(); ++i) {
      wide[i] = i % 4 == 0 ? wide[i] : T{0};
    }
    visit("gradient of a dense kernel, few nonzeros", product, dot_of(wide, 4, 16, wide, 8, 16),
          [&](const auto& device) {
            const auto x = put(device, wide, {rows, 16});
            return std::pair(device.run(kernels::matmul{glia::transpose::first}, x, x),
                             std::size_t{4 * 16 + 8});
          });
  }
  visit("gradient of a kernel of 1 x 1", product, dot_of(image, 2, 3, image, 1, 3),
        [&](const auto& device) {
          const auto x = put(device, image, {1, side, side, 3});
          return std::pair(
              device.run(kernels::conv2d_kernel_gradient{{.height = 1, .width = 1}}, x, x),
              std::size_t{7});
        });
  const glia::window2d same{
      .height = 3, .width = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1};
  visit("gradient of a kernel of 3 x 3", product, dot_of(image, 2, 3, image, 1, 3),
        [&](const auto& device) {
          const auto x = put(device, image, {1, side, side, 3});
          return std::pair(device.run(kernels::conv2d_kernel_gradient{same}, x, x),
                           std::size_t{4 * 9 + 7});
        });
  {
    // Winograd's transforms compute convolutions from 32 channels on.
    const std::size_t extent = static_cast<std::size_t>(std::sqrt(static_cast<double>(n / 32)));
    const std::vector<T> x(terms.begin(),
                           terms.begin() + static_cast<std::ptrdiff_t>(32 * extent * extent));
    visit("gradient of a kernel of 3 x 3 with 32 channels", product, dot_of(x, 5, 32, x, 7, 32),
          [&, extent](const auto& device) {
            const auto images = put(device, x, {1, extent, extent, 32});
            return std::pair(device.run(kernels::conv2d_kernel_gradient{same}, images, images),
                             std::size_t{(4 * 32 + 5) * 32 + 7});
          });
    const std::size_t channels = n / 288 / 16 * 16;
    const std::vector<T> w(terms.begin(),
                           terms.begin() + static_cast<std::ptrdiff_t>(288 * channels));
    const std::vector<T> image_of_channels(
        matrix.begin(), matrix.begin() + static_cast<std::ptrdiff_t>(36 * channels));
    exact_sum first;
    for (std::size_t i = 0; i < 9 * channels; ++i) {
      const std::size_t row = i / channels / 3;
      const std::size_t pixel = 6 * row + i / channels % 3;
      first.add(static_cast<long double>(image_of_channels[pixel * channels + i % channels]) *
                w[32 * i]);
    }
    visit("convolution of 3 x 3 with many channels", product, first, [&](const auto& device) {
      return std::pair(device.run(kernels::conv2d{.window = {.height = 3, .width = 3}},
                                  put(device, image_of_channels, {1, 6, 6, channels}),
                                  put(device, w, {3, 3, channels, 32}), glia::tensor{}),
                       std::size_t{0});
    });
  }
  visit("gradient of a depthwise kernel", product, dot_of(image, 2, 3, image, 2, 3),
        [&](const auto& device) {
          const auto x = put(device, image, {1, side, side, 3});
          return std::pair(device.run(kernels::conv2d_kernel_gradient{same, 3}, x, x),
                           std::size_t{4 * 3 + 2});
        });
  visit("gradient of a kernel along one long row", product, dot_of(terms, 0, 1, matrix, 1, 3),
        [&](const auto& device) {
          const glia::window2d row{.height = 1, .width = 3, .pad_left = 1, .pad_right = 1};
          return std::pair(
              device.run(kernels::conv2d_kernel_gradient{row}, put(device, terms, {1, 1, n, 1}),
                         put(device, matrix, {1, 1, n, 3})),
              std::size_t{4});
        });
  {
    // Runs of 32 elements and more are listed where gradients have few nonzeros.
    const std::size_t width = n / 32;
    const std::vector<T> x(terms.begin(), terms.begin() + static_cast<std::ptrdiff_t>(32 * width));
    std::vector<T> dy(4 * width, T{0});
    for (std::size_t i = 0; i < width; ++i) {
      dy[4 * i] = terms[i];
    }
    visit("gradient of a kernel, few nonzeros", product, dot_of(x, 5, 32, dy, 0, 4),
          [&](const auto& device) {
            const glia::window2d row{.height = 1, .width = 2, .pad_right = 1};
            return std::pair(
                device.run(kernels::conv2d_kernel_gradient{row}, put(device, x, {1, 1, width, 32}),
                           put(device, dy, {1, 1, width, 4})),
                std::size_t{5 * 4});
          });
  }
  {
    const std::size_t depth = n / 4;
    const std::vector<T> values(terms.begin(),
                                terms.begin() + static_cast<std::ptrdiff_t>(4 * depth));
    visit("convolution of many channels", product, dot_of(values, 0, 1, values, 0, 1),
          [&](const auto& device) {
            const glia::window2d two{.height = 2, .width = 2};
            return std::pair(
                device.run(kernels::conv2d{.window = two}, put(device, values, {1, 2, 2, depth}),
                           put(device, values, {2, 2, depth, 1}), glia::tensor{}),
                std::size_t{0});
          });
    std::vector<T> doubled = terms;
    doubled.insert(doubled.end(), terms.begin(), terms.end());
    visit("gradient of the input of a convolution to many channels", product,
          dot_of(terms, 0, 1, terms, 0, 1), [&](const auto& device) {
            const glia::window2d two{.height = 1, .width = 2};
            return std::pair(
                device.run(kernels::conv2d_input_gradient{.window = two, .image = {1, 2, 1}},
                           put(device, terms, {1, 1, 1, n}), put(device, doubled, {1, 2, 1, n})),
                std::size_t{1});
          });
  }
  {
    const std::vector<T> ones(3, T{1});
    const std::vector<T> h = [&] {
      std::vector<T> x(3 * n);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = T(i / 3 % 2 == 0 ? 1 : -1);
      }
      return x;
    }();
    for (const auto kind : {glia::normalization::batch, glia::normalization::layer,
                            glia::normalization::rms, glia::normalization::group}) {
      visit("gradient of beta, normalization " + std::to_string(static_cast<int>(kind)), sum,
            sum_of(matrix, 1, 3), [&, kind](const auto& device) {
              const auto x = put(device, h, {n, 3});
              const auto gamma = put(device, ones, {3});
              const auto y = device.run(kernels::normalize{kind, 1e-3, 1}, x, gamma, gamma);
              const auto gradients = device.run(kernels::normalize_gradient{kind, 1e-3, 1},
                                                put(device, matrix, {n, 3}), x, gamma, y[1], y[2]);
              return std::pair(gradients[2], std::size_t{1});
            });
    }
    // Each column has mean 0 and variance 1: the gradient of gamma is that of a dot product.
    visit(
        "gradient of gamma, batch", product,
        [&] {
          exact_sum result;
          const long double scale = 1 / std::sqrt(1 + static_cast<long double>(T(1e-3)));
          for (std::size_t i = 0; i < n; ++i) {
            result.add(static_cast<long double>(matrix[3 * i + 1]) * h[3 * i + 1] * scale);
          }
          return result;
        }(),
        [&](const auto& device) {
          const auto x = put(device, h, {n, 3});
          const auto gamma = put(device, ones, {3});
          constexpr auto kind = glia::normalization::batch;
          const auto y = device.run(kernels::normalize{kind, 1e-3}, x, gamma, gamma);
          const auto gradients = device.run(kernels::normalize_gradient{kind, 1e-3},
                                            put(device, matrix, {n, 3}), x, gamma, y[1], y[2]);
          return std::pair(gradients[1], std::size_t{1});
        });
  }
}

template <class Device, class Run>
auto values_of_run(const Device& device, const Run& run) {
  using T = typename Device::value_type;
  const auto [tensor, index] = run(device);
  std::vector<T> values(tensor.shape().size());
  device.to_host(tensor, std::span<T>(values));
  return std::pair(values, index);
}

template <class T>
void check_reductions(std::size_t n) {
  const bool is_small = n <= 10'000;  // more take their time
  const glia::reference<T> reference;
  std::vector<std::vector<glia::cpu<T>>> devices;
  for (const auto level :
       {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2, glia::cpu_loops::isa::avx512}) {
    const bool best = level == glia::cpu_loops::best_isa();
    if (best || (level < glia::cpu_loops::best_isa() && (is_small || sizeof(T) == 4))) {
      devices.emplace_back();
      for (std::size_t threads = 1; threads <= (is_small || best ? 3U : 1U); ++threads) {
        devices.back().push_back(glia::cpu<T>({.threads = threads, .isa = level}));
      }
    }
  }
  for (const content distribution : {content::constant, content::random}) {
    for_each_reduction<T>(
        distribution, n,
        [&](const std::string& name, T bound, const exact_sum& exact, const auto& run) {
          INFO(name << " of " << n << (distribution == content::constant ? " equal" : " random")
                    << " numbers of " << sizeof(T) << " bytes");
          const auto keeps_bound = [&](const auto& found) {
            const long double error = std::abs(found.first[found.second] - exact.value);
            CHECK(error <= bound * exact.magnitude);
          };
          if (is_small) {
            keeps_bound(values_of_run(reference, run));
          }
          for (const auto& level : devices) {
            const auto alone = values_of_run(level[0], run);
            keeps_bound(alone);
            for (std::size_t i = 1; i < level.size(); ++i) {
              CHECK(values_of_run(level[i], run).first == alone.first);
            }
          }
        });
  }
}

/// Whole numbers, so that sums and sums of squares are exact: an element that is left out or
/// counted twice shows, wherever it is.
template <class T>
void check_exact_sums(std::size_t n) {
  for (const auto level :
       {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2, glia::cpu_loops::isa::avx512}) {
    if (level > glia::cpu_loops::best_isa()) {
      continue;
    }
    const glia::cpu<T> device({.threads = 1, .isa = level});
    std::vector<T> x(n);
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = static_cast<T>(1 + i % 5);
      sum += static_cast<double>(x[i]);
      squares += static_cast<double>(x[i] * x[i]);
    }
    const auto terms = device.from_host(std::span<const T>(x), {n});
    const auto value_of = [&](const auto& tensor) {
      std::vector<T> values(tensor.shape().size());
      device.to_host(tensor, std::span<T>(values));
      return static_cast<double>(values.at(0));
    };
    INFO(n << " numbers of " << sizeof(T) << " bytes, level " << static_cast<int>(level));
    CHECK(value_of(device.run(kernels::sum_to{{}}, terms)) == sum);
    CHECK(value_of(device.run(kernels::norm{}, terms)) ==
          static_cast<double>(static_cast<T>(std::sqrt(squares))));
  }
}

}  // namespace

TEST_CASE("sums have each of their terms once, however many there are") {
  std::vector<std::size_t> lengths;
  for (std::size_t n = 1; n <= 150; ++n) {
    lengths.push_back(n);
  }
  // Where sums become long ones, of several blocks.
  for (const std::size_t around : {4096U, 8192U, 4096U * 64, 8192U * 64}) {
    for (std::size_t n = around - 1; n <= around + 70; n += 3) {
      lengths.push_back(n);
    }
  }
  for (const std::size_t n : lengths) {
    check_exact_sums<float>(n);
    check_exact_sums<double>(n);
  }
}

TEST_CASE("sums of ten thousand numbers keep their bound") {
  check_reductions<float>(10'000);
  check_reductions<double>(10'000);
}

TEST_CASE("sums of a million numbers keep their bound") {
  check_reductions<float>(1'000'000);
  check_reductions<double>(1'000'000);
}

TEST_CASE("sums of a hundred million numbers keep their bound") {
  constexpr std::size_t n = 100'000'000;
  const glia::cpu<float> device({.threads = 2});
  const auto x = device.run(kernels::full{{n}, 0.1});
  const double exact = static_cast<double>(0.1F) * n;
  for (const glia::shape& s : {glia::shape{n}, glia::shape{n / 4, 4}}) {
    const glia::shape target = s.rank() == 1 ? glia::shape{} : glia::shape{4};
    const auto terms = device.run(kernels::reshape{s}, x);
    const auto y = test::values_of(device, device.run(kernels::sum_to{target}, terms));
    const double expected = exact / static_cast<double>(y.size());
    CHECK(std::abs(y[0] - expected) <=
          static_cast<double>(glia::detail::sum_error<float>) * expected);
  }
}

TEST_CASE("sums of infinities and of numbers that are none are what a plain sum gives") {
  const float endless = std::numeric_limits<float>::infinity();
  const glia::cpu<float> device({.threads = 2});
  const glia::reference<float> reference;
  std::vector<float> x(1'000'000, 1.0F);
  const auto sum = [&](const auto& d) {
    return test::values_of(d, d.run(kernels::sum_to{{}}, test::tensor_of(d, {x.size()}, x)))[0];
  };
  x[123'456] = endless;
  CHECK(sum(device) == endless);
  CHECK(sum(reference) == endless);
  x[777'777] = -endless;
  CHECK(std::isnan(sum(device)));
  CHECK(std::isnan(sum(reference)));
  x.assign(x.size(), std::numeric_limits<float>::max());
  CHECK(sum(device) == endless);
  CHECK(sum(reference) == endless);
}
