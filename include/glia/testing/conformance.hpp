#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/backends/reference.hpp"
#include "glia/testing/values.hpp"

namespace glia::testing {

/// One kernel on one set of operands, compared with the reference backend in double.
struct conformance_result {
  std::string name;
  double error = 0;           ///< largest |x - r| / max(1, |r|) over all outputs
  bool operands_kept = true;  ///< operands that the caller still holds were left alone
  bool reuse_agrees = true;   ///< giving operands up changes nothing in the results
  std::string where{};        ///< of special values, which one the error is for
  [[nodiscard]] bool passed(double tolerance) const {
    return error <= tolerance && operands_kept && reuse_agrees;
  }
};

namespace detail {

/// Runs kernels on one backend: makes operands, collects outputs. Operands are either kept, and
/// looked at again afterwards, or given up to the kernel.
template <backend B>
class bench {
 public:
  using tensor = typename B::tensor;

  bench(const B& device, bool keep) : device_(&device), keep_(keep) {}

  /// Puts `value` at an element of the operand that is made as number `operand`.
  struct injection {
    std::size_t operand;
    std::size_t element;
    float value;
  };
  bench(const B& device, const injection& special)
      : device_(&device), keep_(false), special_(special) {}

  [[nodiscard]] const B& device() const { return *device_; }

  /// test_values, scaled and shifted.
  [[nodiscard]] tensor in(const shape& s, std::uint32_t stream, float scale = 1, float offset = 0) {
    std::vector<float> values = test_values(s, stream);
    for (float& value : values) {
      value = value * scale + offset;
    }
    return in(s, std::move(values));
  }
  /// The same with two in three elements set to zero, as after a ReLU.
  [[nodiscard]] tensor sparse(const shape& s, std::uint32_t stream) {
    std::vector<float> values = test_values(s, stream);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = random_bits({.seed = 7, .stream = stream}, i) % 3 == 0 ? values[i] : 0.0F;
    }
    return in(s, std::move(values));
  }
  [[nodiscard]] tensor in(const shape& s, std::vector<float> values) {
    if (special_ && special_->operand == sizes_.size()) {
      values[special_->element] = special_->value;
    }
    sizes_.push_back(values.size());
    tensor t = device_->from_host(std::span<const float>(values), s);
    if (keep_) {
      kept_.push_back({t, std::move(values)});
    }
    return t;
  }
  [[nodiscard]] tensor integers(std::span<const std::int32_t> values) {
    return device_->from_host(values, {values.size()});
  }
  [[nodiscard]] tensor classes(std::vector<std::int32_t> values) { return integers(values); }
  /// An operand that is left out.
  [[nodiscard]] tensor none() const { return {}; }

  void out(const tensor& t) {
    if (t.type() == element::index) {
      out_as<std::int32_t>(t);
    } else {
      out_as<double>(t);
    }
  }

  [[nodiscard]] const std::vector<double>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<shape>& shapes() const { return shapes_; }
  /// Elements of the operands made so far.
  [[nodiscard]] const std::vector<std::size_t>& operand_sizes() const { return sizes_; }

  [[nodiscard]] bool operands_kept() const {
    return std::all_of(kept_.begin(), kept_.end(), [&](const auto& operand) {
      std::vector<float> now(operand.second.size());
      device_->to_host(operand.first, std::span<float>(now));
      return now == operand.second;
    });
  }

 private:
  template <class Number>
  void out_as(const tensor& t) {
    std::vector<Number> values(t.shape().size());
    device_->to_host(t, std::span<Number>(values));
    shapes_.push_back(t.shape());
    outputs_.insert(outputs_.end(), values.begin(), values.end());
  }

  const B* device_;
  bool keep_;
  std::optional<injection> special_;
  std::vector<std::size_t> sizes_;
  std::vector<std::pair<tensor, std::vector<float>>> kept_;
  std::vector<double> outputs_;
  std::vector<shape> shapes_;
};

[[nodiscard]] inline double largest_difference(const std::vector<double>& got,
                                               const std::vector<double>& expected) {
  if (got.size() != expected.size()) {
    return std::numeric_limits<double>::infinity();
  }
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
    const double error =
        same ? 0 : std::abs(got[i] - expected[i]) / std::max(1.0, std::abs(expected[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : std::numeric_limits<double>::infinity();
  }
  return worst;
}

/// max_pool2d(map(x * w + bias)) and its gradients, by the fused kernels where the backend has
/// them.
template <class Bench, class Tensor>
void convolve_and_pool(Bench& b, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const unary_map& map, const convolution_pooling& how, Tensor dy) {
  const auto& device = b.device();
  if constexpr (runs<std::remove_cvref_t<decltype(device)>, kernels::conv2d_max_pool2d>) {
    const auto [y, position] = device.run(kernels::conv2d_max_pool2d{how, map, true}, x, w, bias);
    b.out(y);
    b.out(device.run(kernels::conv2d_max_pool2d{how, map, false}, x, w, bias)[0]);
    const auto [dx, dw, dbias] =
        device.run(kernels::conv2d_max_pool2d_gradient{how, true}, dy, x, w, position);
    b.out(dx);
    b.out(dw);
    b.out(dbias);
    b.out(device.run(kernels::conv2d_max_pool2d_gradient{how, false}, dy, x, w, position)[1]);
  } else {
    const auto convolved = device.run(kernels::conv2d{how.window, how.groups, map}, x, w, bias);
    const shape image = sample_of(convolved.shape());
    const auto [y, position] = device.run(kernels::max_pool2d{how.pool}, convolved);
    b.out(y);
    b.out(y);
    const auto spread = device.run(kernels::max_pool2d_gradient{how.pool, image}, dy, position);
    const auto before = device.run(kernels::unary_gradient{map}, spread, convolved);
    const auto dw = device.run(kernels::conv2d_kernel_gradient{how.window, how.groups}, x, before);
    b.out(device.run(kernels::conv2d_input_gradient{how.window, how.groups, sample_of(x.shape())},
                     before, w));
    b.out(dw);
    b.out(device.run(kernels::sum_to{{w.shape().back()}}, before));
    b.out(dw);
  }
}

/// Weights, bias and attributes of one of several convolutions.
template <class Tensor>
struct chain_link {
  Tensor weights;
  Tensor bias;
  kernels::conv2d kernel;
};

/// Convolutions one after the other, as one where the backend has that, also with packed weights.
template <class Bench, class Tensor>
void convolve_in_chain(Bench& b, Tensor x, const std::vector<chain_link<Tensor>>& links) {
  const auto& device = b.device();
  using device_type = std::remove_cvref_t<decltype(device)>;
  if constexpr (runs<device_type, kernels::conv2d_chain>) {
    kernels::conv2d_chain chain{links.size()};
    std::array<Tensor, 2 * max_chain> weights;
    for (std::size_t i = 0; i < links.size(); ++i) {
      chain.links[i] = links[i].kernel;
      weights[2 * i] = links[i].weights;
      weights[2 * i + 1] = links[i].bias;
    }
    const auto run = [&](const auto&... each) { return device.run(chain, x, each...); };
    b.out(std::apply(run, weights));
    if constexpr (runs<device_type, kernels::pack_link>) {
      for (std::size_t i = 0; i < links.size(); ++i) {
        chain.packed[i] = links[i].weights.shape();
        weights[2 * i] = device.run(kernels::pack_link{}, links[i].weights, links[i].bias);
        weights[2 * i + 1] = Tensor{};
      }
    }
    b.out(std::apply(run, weights));
  } else {
    for (const chain_link<Tensor>& l : links) {
      x = device.run(l.kernel, x, l.weights, l.bias);
    }
    b.out(x);
    b.out(x);
  }
}

/// Runs one case, a generic callable on a bench, on the candidate and on the reference.
template <backend B, class Case>
[[nodiscard]] conformance_result run_case(const B& candidate, std::string name,
                                          const Case& kernel) {
  const reference<double> oracle;
  bench<reference<double>> expected(oracle, true);
  bench<B> kept(candidate, true);
  bench<B> given_up(candidate, false);
  kernel(expected);
  kernel(kept);
  kernel(given_up);
  conformance_result result{std::move(name)};
  result.error = kept.shapes() == expected.shapes()
                     ? largest_difference(kept.outputs(), expected.outputs())
                     : std::numeric_limits<double>::infinity();
  result.operands_kept = kept.operands_kept();
  result.reuse_agrees = kept.outputs() == given_up.outputs();
  return result;
}

/// The same case with a number that is none or infinite at one element of one operand after the
/// other: small operands at every element, others at a few.
template <backend B, class Case>
[[nodiscard]] conformance_result run_special_case(const B& candidate, std::string name,
                                                  const Case& kernel) {
  const reference<double> oracle;
  bench<reference<double>> plain(oracle, false);
  kernel(plain);
  std::size_t elements = 0;
  for (const std::size_t size : plain.operand_sizes()) {
    elements += size;
  }
  constexpr float specials[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity()};
  conformance_result result{std::move(name)};
  const auto run = [&](std::size_t operand, std::size_t element, float value) {
    bench<reference<double>> expected(oracle, {operand, element, value});
    bench<B> got(candidate, {operand, element, value});
    kernel(expected);
    kernel(got);
    const double error = largest_difference(got.outputs(), expected.outputs());
    if (error > result.error) {
      result.error = error;
      result.where = text(value, " at element ", element, " of operand ", operand);
    }
  };
  for (std::size_t operand = 0; operand < plain.operand_sizes().size(); ++operand) {
    const std::size_t size = plain.operand_sizes()[operand];
    const std::size_t steps = std::clamp<std::size_t>(30000 / elements, 2, 3 * size);
    for (std::size_t i = 0; i < steps; ++i) {
      // Each element with each value where there are steps enough, else the first, the last, and
      // others that are no multiples of anything between them.
      const std::size_t element = 3 * size == steps ? i / 3
                                  : i + 1 == steps  ? size - 1
                                                    : i * size / steps + i % 3;
      run(operand, std::min(element, size - 1), specials[(i + operand) % 3]);
    }
  }
  return result;
}

/// check(name, kernel) for every case of the suite: a generic callable on a bench.
template <class Check>
void for_each_case(const Check& check) {
  check("full", [](auto& b) { b.out(b.device().run(kernels::full{{2, 3}, 1.5})); });
  check("reshape of samples", [](auto& b) {
    b.out(b.device().run(kernels::reshape{{4, 2, 3}}, b.in({4, 6}, 1)));
  });
  check("reshape", [](auto& b) {
    b.out(b.device().run(kernels::reshape{{2, 3, 4}}, b.in({4, 6}, 1)));
  });

  struct cut {
    shape x;
    std::size_t axis;
    std::size_t begin;
    std::size_t extent;
  };
  const std::vector<cut> cuts{
      {{5, 7}, 0, 1, 3},   {{5, 7}, 1, 0, 4},    {{5, 7}, 1, 6, 1},      {{3, 4, 5}, 1, 1, 2},
      {{40001}, 0, 3, 39}, {{3, 4, 5}, 2, 0, 5}, {{70, 9, 60}, 1, 4, 5}, {{1, 30000}, 1, 2, 29000}};
  for (const cut& c : cuts) {
    const std::string name = text(" of ", c.x, " along axis ", c.axis, " from ", c.begin);
    const kernels::slice slice{c.axis, c.begin, c.extent};
    const std::size_t after = c.x[c.axis] - c.begin - c.extent;
    check("slice" + name, [&](auto& b) { b.out(b.device().run(slice, b.in(c.x, 40))); });
    check("pad" + name, [&](auto& b) {
      b.out(b.device().run(kernels::pad{c.axis, c.begin, after, -0.75}, b.in(c.x, 41)));
    });
    check("concat" + name, [&](auto& b) {
      const shape thin = slice.result(real_of(c.x)).shape;
      const auto none = b.none();
      b.out(b.device().run(kernels::concat{c.axis}, b.in(c.x, 42), b.in(thin, 43), none,
                           b.in(c.x, 44), none, none, none, none));
    });
  }
  check("concat and slice of integers", [](auto& b) {
    const auto none = b.none();
    const auto x = b.classes({1, -2, 3});
    const auto y = b.device().run(kernels::concat{}, x, x, x, x, x, x, x, x);
    b.out(b.device().run(kernels::slice{0, 2, 7}, y));
  });

  const std::vector<std::pair<shape, axis_list>> orders{{{5, 7}, {1, 0}},
                                                        {{64, 64}, {1, 0}},
                                                        {{100, 333}, {1, 0}},
                                                        {{2, 3, 4, 5}, {0, 2, 1, 3}},
                                                        {{2, 3, 4, 5}, {3, 1, 0, 2}},
                                                        {{3, 9, 17}, {0, 2, 1}},
                                                        {{3, 9, 17}, {2, 0, 1}},
                                                        {{2, 1, 3, 1}, {2, 3, 0, 1}},
                                                        {{3, 2, 4, 2, 3, 2}, {5, 0, 4, 1, 3, 2}},
                                                        {{1, 3, 1}, {2, 1, 0}},
                                                        {{7}, {0}},
                                                        {{}, {}}};
  for (const auto& [extents, order] : orders) {
    const shape s = extents;
    const kernels::permute_axes kernel{order};
    check(text("permute_axes of ", s, " to ", order),
          [&](auto& b) { b.out(b.device().run(kernel, b.in(s, 45))); });
    check(text("permute_axes of integers ", s, " to ", order), [&](auto& b) {
      std::vector<std::int32_t> values(s.size());
      std::iota(values.begin(), values.end(), -3);
      b.out(b.device().run(kernel, b.device().run(kernels::reshape{s}, b.integers(values))));
    });
  }

  // Some indices twice, some never, some of no row.
  const auto indices_of = [](auto& b, const shape& s, std::size_t count) {
    std::vector<std::int32_t> values(s.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int32_t>(random_bits({.seed = 8}, i) % (count + 2)) - 1;
    }
    return b.device().run(kernels::reshape{s}, b.integers(values));
  };
  const std::vector<std::pair<shape, shape>> tables{
      {{5, 3}, {7}},      {{4}, {2, 3}}, {{6, 2, 3}, {4, 5}}, {{9, 200}, {300}},
      {{300, 70}, {100}}, {{3, 5}, {}},  {{1, 1}, {1, 1, 1}}, {{50, 4}, {20000}}};
  for (const auto& [rows, s] : tables) {
    const shape table = rows;
    const shape indices = s;
    const std::string name = text(" of ", table, " by ", indices);
    check("gather" + name, [&](auto& b) {
      b.out(b.device().run(kernels::gather{}, b.in(table, 46), indices_of(b, indices, table[0])));
    });
    check("scatter_add" + name, [&](auto& b) {
      const shape y = kernels::gather::result(real_of(table), {indices, element::index}).shape;
      b.out(b.device().run(kernels::scatter_add{table[0]}, b.in(y, 47),
                           indices_of(b, indices, table[0])));
    });
  }

  for (int f = 0; f <= static_cast<int>(unary_function::gelu); ++f) {
    const auto function = static_cast<unary_function>(f);
    // Positive where the function asks for it; elsewhere both sides of zero and of the kinks.
    const bool positive = function == unary_function::square_root ||
                          function == unary_function::logarithm ||
                          function == unary_function::reciprocal;
    const unary_map map{function, function == unary_function::clamp ? -0.5 : 0.75, 1.25};
    for (std::size_t n : {std::size_t{1}, std::size_t{37}, std::size_t{40001}}) {
      const std::string name = text(name_of(function), " of ", n, " elements");
      check(name, [&](auto& b) {
        b.out(b.device().run(kernels::unary{map}, b.in({n}, 2, 4, positive ? 5.0F : 0.0F)));
      });
      check(name + ", gradient", [&](auto& b) {
        auto saved = b.in({n}, 3, 4, positive ? 5.0F : 0.0F);
        if (saved_for_gradient(function) == saved_operand::output) {
          saved = b.device().run(kernels::unary{map}, saved);
        }
        b.out(b.device().run(kernels::unary_gradient{map}, b.in({n}, 4), std::move(saved)));
      });
    }
  }

  const std::vector<std::pair<shape, shape>> pairs{
      {{5, 7}, {5, 7}},    {{5, 7}, {7}},       {{5, 7}, {5, 1}},
      {{5, 7}, {}},        {{}, {5, 7}},        {{1, 7}, {5, 1}},
      {{2, 3, 5}, {3, 1}}, {{3, 1}, {2, 1, 5}}, {{200, 300}, {200, 300}},
      {{200, 300}, {300}}, {{1}, {1}},          {{4, 1, 3}, {4, 2, 1}}};
  for (const auto& [left, right] : pairs) {
    const shape a = left;
    const shape c = right;
    for (int f = 0; f <= static_cast<int>(binary_function::equal); ++f) {
      check(text("binary function ", f, " of ", a, " and ", c), [&](auto& b) {
        b.out(b.device().run(kernels::binary{static_cast<binary_function>(f)}, b.in(a, 5),
                             b.in(c, 6, 1, 2)));
      });
    }
    check(text("broadcast_to from ", c), [&](auto& b) {
      b.out(b.device().run(kernels::broadcast_to{broadcast_shape(a, c)}, b.in(c, 7)));
    });
    check(text("sum_to ", c), [&](auto& b) {
      b.out(b.device().run(kernels::sum_to{c}, b.in(broadcast_shape(a, c), 8)));
    });
  }

  const std::vector<std::array<shape, 3>> choices{{{{5, 7}, {5, 7}, {5, 7}}},
                                                  {{{5, 7}, {}, {5, 7}}},
                                                  {{{5, 7}, {5, 7}, {1}}},
                                                  {{{5, 7}, {}, {}}},
                                                  {{{5, 1}, {5, 7}, {7}}},
                                                  {{{5, 1}, {}, {7}}},
                                                  {{{}, {5, 7}, {5, 1}}},
                                                  {{{3, 1}, {2, 1, 5}, {}}},
                                                  {{{}, {}, {}}},
                                                  {{{40001}, {40001}, {40001}}},
                                                  {{{300}, {200, 1}, {200, 300}}}};
  for (const auto& shapes : choices) {
    check(text("select by ", shapes[0], " of ", shapes[1], " and ", shapes[2]), [&](auto& b) {
      auto condition = b.sparse(shapes[0], 48);
      b.out(b.device().run(kernels::select{}, std::move(condition), b.in(shapes[1], 49),
                           b.in(shapes[2], 50)));
    });
  }

  const std::vector<matmul_sizes> products{{1, 1, 1},      {3, 5, 7},       {17, 33, 9},
                                           {100, 60, 70},  {129, 200, 300}, {20, 24, 200},
                                           {300, 24, 1000}};
  for (const matmul_sizes& size : products) {
    const matmul_sizes s = size;
    for (const bool zeros : {false, true}) {
      const std::string name =
          text(" of ", s.m, "x", s.k, " by ", s.k, "x", s.n, zeros ? ", many zeros" : "");
      const auto left = [&](auto& b, const shape& extents) {
        return zeros ? b.sparse(extents, 9) : b.in(extents, 9);
      };
      check("matmul" + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::none}, left(b, {s.m, s.k}),
                             b.in({s.k, s.n}, 10)));
      });
      check("matmul, first transposed," + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::first}, left(b, {s.k, s.m}),
                             b.in({s.k, s.n}, 11)));
      });
      check("matmul, second transposed," + name, [&](auto& b) {
        b.out(b.device().run(kernels::matmul{transpose::second}, left(b, {s.m, s.k}),
                             b.in({s.n, s.k}, 12)));
      });
      check("dense" + name, [&](auto& b) {
        b.out(b.device().run(kernels::dense{{unary_function::relu}}, left(b, {s.m, s.k}),
                             b.in({s.k, s.n}, 13), b.in({s.n}, 14)));
      });
      check("dense without bias" + name, [&](auto& b) {
        b.out(b.device().run(kernels::dense{{unary_function::tanh}}, left(b, {s.m, s.k}),
                             b.in({s.k, s.n}, 13), b.none()));
      });
    }
  }

  struct product_batch {
    shape leading;
    matmul_sizes each;
  };
  // Small ones, many, and a few that are cut.
  const std::vector<product_batch> batches{
      {{1}, {1, 1, 1}},     {{3}, {3, 5, 7}},       {{2, 3}, {4, 1, 9}},    {{70}, {17, 33, 9}},
      {{65}, {60, 70, 80}}, {{2}, {129, 200, 150}}, {{2, 1, 2}, {5, 3, 2}}, {{3}, {300, 24, 1000}}};
  for (const product_batch& p : batches) {
    const auto batch = [&](std::size_t rows, std::size_t columns) {
      shape s = p.leading;
      s.push_back(rows);
      s.push_back(columns);
      return s;
    };
    const matmul_sizes s = p.each;
    const std::string name = text(" ", p.leading, " of ", s.m, "x", s.k, " by ", s.k, "x", s.n);
    check("batched_matmul" + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{}, b.in(batch(s.m, s.k), 51),
                           b.in(batch(s.k, s.n), 52)));
    });
    check("batched_matmul, first transposed," + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{transpose::first}, b.in(batch(s.k, s.m), 53),
                           b.in(batch(s.k, s.n), 54)));
    });
    check("batched_matmul, second transposed," + name, [&](auto& b) {
      b.out(b.device().run(kernels::batched_matmul{transpose::second}, b.in(batch(s.m, s.k), 55),
                           b.in(batch(s.n, s.k), 56)));
    });
  }

  struct convolution {
    shape x;
    shape w;
    window2d window;
    std::size_t groups;
  };
  const std::vector<convolution> convolutions{
      {{1, 5, 7, 1}, {3, 2, 1, 4}, {3, 2}, 1},
      {{3, 8, 5, 3}, {1, 1, 3, 6}, {1, 1}, 1},
      {{2, 9, 6, 4}, {3, 3, 4, 5}, {3, 3, 2, 3, 1, 1, 1, 2, 0, 1}, 1},
      {{2, 9, 8, 3}, {2, 3, 3, 4}, {2, 3, 1, 1, 3, 2, 1, 1, 2, 2}, 1},
      {{2, 6, 5, 4}, {3, 3, 2, 6}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 2},
      {{2, 7, 6, 5}, {3, 3, 1, 5}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}, 5},
      {{2, 7, 6, 3}, {3, 3, 1, 6}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 3},
      {{1, 4, 3, 100}, {2, 1, 100, 120}, {2, 1}, 1},
      {{2, 9, 7, 20}, {3, 3, 1, 20}, {3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 20},
      {{1, 8, 16, 9}, {3, 3, 1, 9}, {3, 3, 2, 2, 1, 1, 0, 1, 0, 1}, 9},
      {{1, 3, 20, 9}, {2, 17, 1, 9}, {2, 17}, 9},
      {{1, 8, 13, 8}, {3, 3, 1, 8}, {3, 3, 1, 1, 2, 2, 1, 1, 1, 1}, 8},
      {{11, 14, 13, 3}, {2, 2, 3, 8}, {2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1},
      {{2, 4, 4, 3}, {1, 1, 3, 2}, {1, 1, 2, 2}, 1}};
  for (const convolution& c : convolutions) {
    const std::string name = text(" of ", c.x, " with ", c.w, ", ", c.groups, " groups");
    const shape y = conv2d_rule(c.x, c.w, c.window, c.groups).output();
    check("conv2d" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d{c.window, c.groups, {unary_function::relu}},
                           b.in(c.x, 15), b.in(c.w, 16), b.in({c.w[3]}, 17)));
    });
    check("conv2d without bias" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d{c.window, c.groups, identity_map}, b.in(c.x, 15),
                           b.in(c.w, 16), b.none()));
    });
    check("conv2d_input_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d_input_gradient{c.window, c.groups, sample_of(c.x)},
                           b.in(y, 18), b.in(c.w, 16)));
    });
    check("conv2d_kernel_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::conv2d_kernel_gradient{c.window, c.groups}, b.in(c.x, 15),
                           b.in(y, 18)));
    });
  }

  struct pooled_convolution {
    shape x;
    shape w;
    convolution_pooling how;
  };
  const std::vector<pooled_convolution> pooled_convolutions{
      {{1, 5, 7, 1}, {2, 2, 1, 5}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{4, 29, 31, 1}, {2, 2, 1, 24}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{2, 27, 45, 3}, {3, 3, 3, 16}, {{3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, 1, {2, 2, 2, 2}}},
      {{3, 14, 13, 16}, {2, 2, 16, 9}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{3, 9, 13, 16}, {2, 2, 16, 32}, {{2, 2, 1, 1, 1, 1, 0, 1, 0, 1}, 1, {2, 2, 2, 2}}},
      {{2, 8, 7, 24}, {2, 2, 24, 16}, {{2, 2, 1, 1, 1, 1, 1, 0, 1, 1}, 1, {2, 2, 3, 2}}},
      {{9, 12, 17, 32}, {3, 1, 32, 40}, {{3, 1, 2, 1, 1, 1, 1, 0, 0, 0}, 1, {2, 3, 3, 4}}},
      {{2, 9, 8, 4}, {3, 3, 2, 6}, {{3, 3, 1, 1, 2, 1, 2, 2, 1, 1}, 2, {3, 2, 3, 2}}}};
  for (const pooled_convolution& c : pooled_convolutions) {
    for (const unary_function function :
         {unary_function::affine, unary_function::relu, unary_function::relu6}) {
      const std::string name = text(" of ", c.x, " with ", c.w, ", ", name_of(function));
      const auto run = [&](auto& b, float scale, bool bias) {
        // As in drawings on a ground, the upper half of every image is blank but for a few points.
        std::vector<float> values = test_values(c.x, 15);
        for (std::size_t i = 0; i < values.size(); ++i) {
          const std::size_t row = i / (c.x[2] * c.x[3]) % c.x[1];
          const bool point = random_bits({.seed = 7, .stream = 15}, i) % (16 * c.x[3]) == 0;
          values[i] = 2 * row < c.x[1] && !point ? 0 : scale * values[i];
        }
        const auto x = b.in(c.x, std::move(values));
        const auto w = b.in(c.w, 16);
        const auto shift = bias ? b.in({c.w[3]}, 17) : decltype(b.in({}, 1)){};
        const shape y =
            pool_rule(conv2d_rule(c.x, c.w, c.how.window, c.how.groups).output(), c.how.pool)
                .output();
        detail::convolve_and_pool(b, x, w, shift, {function}, c.how, b.in(y, 18));
      };
      check("convolution and max-pooling" + name, [&](auto& b) { run(b, 1, true); });
      check("convolution and max-pooling without bias" + name, [&](auto& b) { run(b, 5, false); });
    }
  }

  struct link {
    shape w;
    window2d window;
    std::size_t groups;
    unary_function function;
  };
  struct chain {
    shape x;
    std::vector<link> links;
  };
  constexpr window2d pixel{};
  constexpr window2d three{3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  constexpr window2d halved{3, 3, 2, 2, 1, 1, 1, 1, 1, 1};
  constexpr window2d uneven{4, 3, 3, 1, 1, 2, 2, 0, 1, 3};
  constexpr auto linear = unary_function::affine;
  constexpr auto relu = unary_function::relu;
  constexpr auto relu6 = unary_function::relu6;
  std::vector<chain> chained{
      {{2, 9, 7, 5}, {{{1, 1, 5, 20}, pixel, 1, relu6}, {{3, 3, 1, 20}, three, 20, linear}}},
      {{9, 11, 10, 3},
       {{{3, 3, 3, 32}, halved, 1, relu6},
        {{3, 3, 1, 32}, three, 32, relu6},
        {{1, 1, 32, 17}, pixel, 1, linear}}},
      {{2, 41, 50, 4},
       {{{1, 1, 4, 96}, pixel, 1, relu},
        {{3, 3, 1, 96}, halved, 96, relu6},
        {{3, 3, 1, 96}, three, 96, linear},
        {{1, 1, 96, 24}, pixel, 1, relu}}},
      {{1, 70, 23, 4},
       {{{2, 2, 4, 48}, {2, 2, 1, 1, 2, 1, 0, 1, 2, 0}, 1, linear},
        {{4, 3, 1, 48}, uneven, 48, relu6},
        {{1, 1, 48, 8}, pixel, 1, relu6},
        {{3, 3, 1, 8}, three, 8, linear}}},
      {{1, 3, 3, 200},
       {{{1, 1, 200, 120}, pixel, 1, relu},
        {{3, 3, 1, 120}, three, 120, relu6},
        {{1, 1, 120, 150}, pixel, 1, linear}}},
      {{8, 1, 1, 6}, {{{1, 1, 6, 7}, pixel, 1, relu}, {{3, 3, 1, 7}, three, 7, relu}}}};
  for (std::size_t width = 1; width < 9; ++width) {
    for (const window2d& window : {three, halved}) {
      chained.push_back({{2, 5, width, 3},
                         {{{1, 1, 3, 9}, pixel, 1, relu6},
                          {{3, 3, 1, 9}, window, 9, linear},
                          {{1, 1, 9, 4}, pixel, 1, relu}}});
    }
  }
  for (const chain& c : chained) {
    const auto run = [&](auto& b, bool bias) {
      std::vector<float> values = test_values(c.x, 15);
      std::transform(values.begin(), values.end(), values.begin(), [](float v) { return 4 * v; });
      const auto x = b.in(c.x, std::move(values));
      std::vector<detail::chain_link<std::remove_cvref_t<decltype(x)>>> links;
      for (const link& l : c.links) {
        const auto shift = bias ? b.in({l.w[3]}, 17) : decltype(b.in({}, 1)){};
        links.push_back({b.in(l.w, 16), shift, {l.window, l.groups, {l.function}}});
      }
      detail::convolve_in_chain(b, x, links);
    };
    const std::string name = text(c.links.size(), " convolutions of ", c.x, ", the second with ",
                                  c.links[1].window.stride_height, " rows a step");
    check(name, [&](auto& b) { run(b, true); });
    check(name + " without bias", [&](auto& b) { run(b, false); });
  }

  struct pooling {
    shape x;
    window2d window;
  };
  const std::vector<pooling> poolings{{{1, 4, 6, 1}, {2, 2, 2, 2}},
                                      {{2, 5, 7, 3}, {2, 2, 2, 2}},
                                      {{2, 5, 7, 3}, {3, 2, 1, 2}},
                                      {{3, 6, 5, 4}, {3, 3, 2, 2, 1, 1, 1, 1, 1, 1}},
                                      {{2, 5, 4, 2}, {2, 2, 2, 2, 1, 1, 0, 1, 0, 1}},
                                      {{9, 12, 10, 17}, {2, 3, 2, 3}}};
  for (const pooling& p : poolings) {
    const std::string name = text(" of ", p.x, ", window ", p.window.height, "x", p.window.width);
    const shape y = pool_rule(p.x, p.window).output();
    check("max_pool2d" + name, [&](auto& b) {
      const auto result = b.device().run(kernels::max_pool2d{p.window}, b.in(p.x, 19));
      b.out(result[0]);
      b.out(result[1]);
    });
    // Rounded to quarters, windows hold equal values: the first must win.
    check("max_pool2d with ties" + name, [&](auto& b) {
      std::vector<float> values = test_values(p.x, 20);
      for (float& value : values) {
        value = std::round(value * 2) / 2;
      }
      b.out(b.device().run(kernels::max_pool2d{p.window}, b.in(p.x, std::move(values)))[1]);
    });
    check("max_pool2d_gradient" + name, [&](auto& b) {
      auto position = b.device().run(kernels::max_pool2d{p.window}, b.in(p.x, 19))[1];
      b.out(b.device().run(kernels::max_pool2d_gradient{p.window, sample_of(p.x)}, b.in(y, 21),
                           std::move(position)));
    });
    check("avg_pool2d" + name,
          [&](auto& b) { b.out(b.device().run(kernels::avg_pool2d{p.window}, b.in(p.x, 22))); });
    check("avg_pool2d_gradient" + name, [&](auto& b) {
      b.out(b.device().run(kernels::avg_pool2d_gradient{p.window, sample_of(p.x)}, b.in(y, 23)));
    });
  }

  for (const shape& s : {shape{6, 5}, shape{3, 4, 2, 70}, shape{2, 1}, shape{400, 3}}) {
    for (const normalization kind : {normalization::batch, normalization::layer}) {
      if (kind == normalization::layer && s.back() == 1) {
        continue;  // One feature is its own mean: nothing is left to normalise.
      }
      const std::string name =
          text(kind == normalization::batch ? "batch" : "layer", " normalisation of ", s);
      const shape channels{s.back()};
      check(name, [&](auto& b) {
        auto result = b.device().run(kernels::normalize{kind, 1e-3}, b.in(s, 24, 2, 0.5F),
                                     b.in(channels, 25), b.in(channels, 26));
        b.out(result[0]);
        b.out(result[1]);
        b.out(result[2]);
      });
      check(name + ", gradient", [&](auto& b) {
        auto x = b.in(s, 24, 2, 0.5F);
        auto gamma = b.in(channels, 25);
        auto forward = b.device().run(kernels::normalize{kind, 1e-3}, x, gamma, b.in(channels, 26));
        auto result = b.device().run(kernels::normalize_gradient{kind, 1e-3}, b.in(s, 27), x, gamma,
                                     forward[1], forward[2]);
        b.out(result[0]);
        b.out(result[1]);
        b.out(result[2]);
      });
    }
  }

  // With samples of one element, the first one's number is that of the element.
  for (const std::uint32_t first : {0U, 3U, 4294967290U}) {
    check(text("dropout from element ", first), [&](auto& b) {
      const auto words = step_key{0x1234567890ABCDEF, 6, first}.to_words();
      b.out(b.device().run(kernels::dropout{0.3, 5}, b.in({40003}, 28, 1, 3), b.integers(words)));
    });
  }

  for (const shape& s : {shape{1, 2}, shape{7, 10}, shape{3, 1000}}) {
    const shape rows{s[0]};
    check(text("softmax of ", s),
          [&](auto& b) { b.out(b.device().run(kernels::softmax{}, b.in(s, 29, 10))); });
    check(text("softmax of ", s, ", gradient"), [&](auto& b) {
      b.out(b.device().run(kernels::softmax_gradient{}, b.in(s, 30),
                           b.device().run(kernels::softmax{}, b.in(s, 29, 3))));
    });
    check(text("softmax_cross_entropy of ", s), [&](auto& b) {
      auto result = b.device().run(kernels::softmax_cross_entropy{}, b.in(s, 31, 10),
                                   b.in(s, 32, 0.5F, 0.5F));
      b.out(result[0]);
      b.out(result[1]);
    });
    check(text("softmax_cross_entropy of ", s, ", gradient"), [&](auto& b) {
      b.out(b.device().run(kernels::softmax_cross_entropy_gradient{}, b.in(rows, 33),
                           b.device().run(kernels::softmax{}, b.in(s, 31)),
                           b.in(s, 32, 0.5F, 0.5F)));
    });
  }
  check("softmax_cross_entropy of large logits", [](auto& b) {
    auto result =
        b.device().run(kernels::softmax_cross_entropy{}, b.in({2, 3}, {1000, 0, -1000, 80, 81, 79}),
                       b.in({2, 3}, {1, 0, 0, 0, 1, 0}));
    b.out(result[0]);
    b.out(result[1]);
  });

  check("one_hot", [](auto& b) {
    b.out(b.device().run(kernels::one_hot{4, 0.9, 0.1}, b.classes({2, 0, 3})));
  });
  check("argmax", [](auto& b) {
    b.out(b.device().run(kernels::argmax{}, b.in({3, 3}, {1, 3, 2, 5, 5, 4, -1, -3, -2})));
  });
  for (std::size_t k : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    check(text("in_top_", k), [&](auto& b) {
      b.out(b.device().run(kernels::in_top_k{k}, b.in({3, 4}, {1, 3, 2, 0, 5, 5, 4, 4, 0, 1, 2, 3}),
                           b.classes({2, 1, 0})));
    });
  }

  for (std::size_t n : {std::size_t{1}, std::size_t{517}, std::size_t{40000}}) {
    const shape s{n};
    const std::string name = text(" of ", n, " elements");
    check("sgd" + name, [&](auto& b) {
      b.out(b.device().run(kernels::sgd{0, 0.01, false}, b.in(s, 34), b.in(s, 35), b.none(),
                           b.in({1}, std::vector{0.1F}))[0]);
    });
    for (const bool nesterov : {false, true}) {
      check(text("sgd with momentum", nesterov ? ", nesterov" : "", name), [&](auto& b) {
        const auto [p, v] = b.device().run(kernels::sgd{0.9, 0.01, nesterov}, b.in(s, 34),
                                           b.in(s, 35), b.in(s, 36), b.in({1}, std::vector{0.1F}));
        b.out(p);
        b.out(v);
      });
    }
    check("adam" + name, [&](auto& b) {
      const auto [p, m, v] =
          b.device().run(kernels::adam{0.9, 0.99, 0.01}, b.in(s, 34), b.in(s, 35), b.in(s, 36),
                         b.in(s, 37, 0.5F, 0.6F), b.in({3}, std::vector{0.1F, 1e-3F, 0.98F}));
      b.out(p);
      b.out(m);
      b.out(v);
    });
    for (const bool momentum : {false, true}) {
      check(text("rmsprop", momentum ? " with momentum" : "", name), [&](auto& b) {
        auto velocity = momentum ? b.in(s, 36) : b.none();
        const auto [p, v, u] = b.device().run(kernels::rmsprop{0.9, momentum ? 0.5 : 0, 1e-3, 0.01},
                                              b.in(s, 34), b.in(s, 35), b.in(s, 37, 0.5F, 0.6F),
                                              std::move(velocity), b.in({1}, std::vector{0.1F}));
        b.out(p);
        b.out(v);
        if (momentum) {
          b.out(u);
        }
      });
    }
    check("adagrad" + name, [&](auto& b) {
      const auto [p, v] = b.device().run(kernels::adagrad{1e-3, 0.01}, b.in(s, 34), b.in(s, 35),
                                         b.in(s, 37, 0.5F, 0.6F), b.in({1}, std::vector{0.1F}));
      b.out(p);
      b.out(v);
    });
  }
}

}  // namespace detail

/// Holds every kernel of a backend to the reference backend, on odd shapes: height and width
/// different, strides that do not divide, one channel, one image, blocks that do not fill. Also
/// checks that a kernel overwrites only operands that were given up.
///
/// Errors come out below 3e-5 in float (the longest sums have 2,000 terms) and below 1e-12 in
/// double.
template <backend B>
[[nodiscard]] std::vector<conformance_result> run_conformance(const B& candidate) {
  std::vector<conformance_result> results;
  detail::for_each_case([&](std::string name, const auto& kernel) {
    results.push_back(detail::run_case(candidate, std::move(name), kernel));
  });
  return results;
}

/// Holds every kernel to the reference backend with operands that hold a NaN or an infinity, which
/// must come out where it says: 0 times either is NaN, sums and maxima pass them on.
template <backend B>
[[nodiscard]] std::vector<conformance_result> run_special_values(const B& candidate) {
  std::vector<conformance_result> results;
  detail::for_each_case([&](std::string name, const auto& kernel) {
    results.push_back(detail::run_special_case(candidate, std::move(name), kernel));
  });
  return results;
}

}  // namespace glia::testing
