#include <glia/kernels/kernels.hpp>
#include <numeric>
#include <tuple>

#include "catch.hpp"
#include "helpers.hpp"

using test::values_of;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Kernels on operands that are given by their elements, on one backend.
struct desk {
  using tensor = glia::tensor;
  using numbers = std::vector<float>;

  glia::device device;

  tensor real(const glia::shape& s, std::vector<float> values) const {
    return test::tensor_of(device, s, std::move(values));
  }
  tensor counted(const glia::shape& s) const {
    std::vector<float> values(s.size());
    std::iota(values.begin(), values.end(), 0.0F);
    return real(s, std::move(values));
  }
  tensor indices(const glia::shape& s, const std::vector<std::int32_t>& values) const {
    return device.from_host(std::span<const std::int32_t>(values), s);
  }
  tensor concat(std::size_t axis, const tensor& a, const tensor& b) const {
    const tensor absent;
    return device.run(kernels::concat{axis}, a, absent, b, absent, absent, absent, absent, absent);
  }
  template <class K, class... Operands>
  numbers run(const K& k, const Operands&... operands) const {
    return values_of(device, device.run(k, operands...));
  }
};

using backends = std::tuple<glia::reference<float>, glia::cpu<float>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("tensors are joined, cut and padded along an axis", "", backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const auto x = bench.counted({2, 3});
  const auto y = bench.real({2, 1}, {7, 8});
  CHECK(values_of(bench.device, bench.concat(1, x, y)) == numbers{0, 1, 2, 7, 3, 4, 5, 8});
  CHECK(values_of(bench.device, bench.concat(0, x, x)) ==
        numbers{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5});
  CHECK(bench.run(kernels::slice{1, 1, 2}, x) == numbers{1, 2, 4, 5});
  CHECK(bench.run(kernels::slice{0, 1, 1}, x) == numbers{3, 4, 5});
  CHECK(bench.run(kernels::pad{1, 1, 2}, y) == numbers{0, 7, 0, 0, 0, 8, 0, 0});
  CHECK(bench.run(kernels::pad{0, 0, 1, -infinity}, y) == numbers{7, 8, -infinity});
}

TEMPLATE_LIST_TEST_CASE("axes are put in another order as numpy.transpose does", "", backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  CHECK(bench.run(kernels::permute_axes{{1, 0}}, bench.counted({2, 3})) ==
        numbers{0, 3, 1, 4, 2, 5});
  CHECK(bench.run(kernels::permute_axes{{0, 2, 1}}, bench.counted({2, 2, 3})) ==
        numbers{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11});
  CHECK(bench.run(kernels::permute_axes{{1, 0, 2}}, bench.counted({2, 2, 3})) ==
        numbers{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11});
  const auto y = bench.device.run(kernels::permute_axes{{2, 0, 1}}, bench.counted({2, 2, 3}));
  CHECK(y.shape() == glia::shape{3, 2, 2});
  CHECK(values_of(bench.device, y) == numbers{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
}

TEMPLATE_LIST_TEST_CASE("rows are taken and added by index", "", backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const auto positions = bench.indices({2, 2}, {2, -1, 0, 3});
  const auto rows = bench.device.run(kernels::gather{}, bench.counted({3, 2}), positions);
  CHECK(rows.shape() == glia::shape{2, 2, 2});
  CHECK(values_of(bench.device, rows) == numbers{4, 5, 0, 0, 0, 1, 0, 0});
  const auto named = bench.indices({4}, {1, -2, 1, 2});
  CHECK(bench.run(kernels::scatter_add{3}, bench.counted({4, 2}), named) ==
        numbers{0, 0, 4, 6, 6, 7});
  CHECK(bench.run(kernels::scatter_add{2}, bench.counted({4}), named) == numbers{0, 2});
  CHECK(bench.run(kernels::scatter_add{1}, bench.real({3}, {3, 4, 5}),
                  bench.indices({3}, {0, 0, 0})) == numbers{12});
}

TEMPLATE_LIST_TEST_CASE("a block replaces elements from a place on, moved so that it fits", "",
                        backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const kernels::update_slice along_columns{1};
  const auto update = [&](std::int32_t begin) {
    return bench.run(along_columns, bench.counted({2, 4}), bench.real({2, 2}, {-1, -2, -3, -4}),
                     bench.indices({}, {begin}));
  };
  CHECK(update(0) == numbers{-1, -2, 2, 3, -3, -4, 6, 7});
  CHECK(update(1) == numbers{0, -1, -2, 3, 4, -3, -4, 7});
  CHECK(update(3) == numbers{0, 1, -1, -2, 4, 5, -3, -4});
  CHECK(update(-5) == update(0));
  CHECK(bench.run(kernels::update_slice{0}, bench.counted({3, 2}), bench.real({1, 2}, {8, 9}),
                  bench.indices({}, {2})) == numbers{0, 1, 2, 3, 8, 9});
  // Another handle keeps its elements.
  const auto x = bench.counted({2, 2});
  CHECK(bench.run(kernels::update_slice{0}, x, bench.real({1, 2}, {8, 9}),
                  bench.indices({}, {0})) == numbers{8, 9, 2, 3});
  CHECK(values_of(bench.device, x) == numbers{0, 1, 2, 3});
}

TEMPLATE_LIST_TEST_CASE("a condition that is not 0 holds, and what is not chosen does not show", "",
                        backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const auto condition = bench.real({4}, {0, -1, not_a_number, infinity});
  const auto a = bench.real({4}, {not_a_number, 1, 2, 3});
  const auto b = bench.real({4}, {9, infinity, 9, not_a_number});
  const auto nine = bench.real({}, {9});
  CHECK(bench.run(kernels::select{}, condition, a, b) == numbers{9, 1, 2, 3});
  CHECK(bench.run(kernels::select{}, condition, a, nine) == numbers{9, 1, 2, 3});
  CHECK(bench.run(kernels::select{}, condition, nine, bench.counted({4})) == numbers{0, 9, 9, 9});
  CHECK(bench.run(kernels::select{}, bench.real({2, 1}, {1, 0}), bench.counted({2, 3}), nine) ==
        numbers{0, 1, 2, 9, 9, 9});
}

TEMPLATE_LIST_TEST_CASE("every matrix of a batch is multiplied with its own", "", backends) {
  const desk bench{TestType()};
  using glia::transpose;
  using numbers = std::vector<float>;
  const auto a = bench.counted({2, 1, 2});
  const auto b = bench.counted({2, 2, 2});
  CHECK(bench.run(kernels::batched_matmul{}, a, b) == numbers{2, 3, 26, 31});
  CHECK(bench.run(kernels::batched_matmul{transpose::second}, a, b) == numbers{1, 3, 23, 33});
  CHECK(bench.run(kernels::batched_matmul{transpose::first}, bench.counted({2, 2, 1}), b) ==
        numbers{2, 3, 26, 31});
}

TEMPLATE_LIST_TEST_CASE("many products, too large for one cache, are computed one a thread", "",
                        backends) {
  const desk bench{TestType()};
  const auto number = bench.counted({64, 1, 1});
  const auto a = bench.device.run(kernels::broadcast_to{{64, 513, 512}}, number);
  const auto b = bench.device.run(kernels::broadcast_to{{64, 512, 1}}, number);
  const auto c = bench.run(kernels::batched_matmul{}, a, b);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(c[i * 513] == 512.0F * static_cast<float>(i * i));
    CHECK(c[i * 513 + 512] == 512.0F * static_cast<float>(i * i));
  }
}

TEMPLATE_LIST_TEST_CASE("nothing can be arranged, too", "", backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const auto empty = bench.real({0, 3}, {});
  const auto x = bench.counted({1, 3});
  CHECK(values_of(bench.device, bench.concat(0, empty, x)) == numbers{0, 1, 2});
  CHECK(bench.device.run(kernels::slice{1, 3, 0}, x).shape() == glia::shape{1, 0});
  CHECK(bench.run(kernels::norm{}, empty) == numbers{0});
  CHECK(bench.run(kernels::pad{0, 1, 1, 4}, empty) == numbers(6, 4));
  CHECK(bench.run(kernels::pad{1, 1, 0}, bench.real({2, 0}, {})) == numbers{0, 0});
  CHECK(bench.device.run(kernels::permute_axes{{1, 0}}, empty).shape() == glia::shape{3, 0});
  CHECK(bench.run(kernels::gather{}, empty, bench.indices({2}, {0, 1})) == numbers(6, 0));
  CHECK(bench.device.run(kernels::gather{}, x, bench.indices({0}, {})).shape() ==
        glia::shape{0, 3});
  CHECK(bench.run(kernels::scatter_add{2}, empty, bench.indices({0}, {})) == numbers(6, 0));
  CHECK(bench.device.run(kernels::scatter_add{0}, x, bench.indices({1}, {0})).shape() ==
        glia::shape{0, 3});
  CHECK(bench.device.run(kernels::select{}, empty, x, bench.real({}, {1})).shape() ==
        glia::shape{0, 3});
  CHECK(bench.run(kernels::batched_matmul{}, bench.real({2, 1, 0}, {}),
                  bench.real({2, 0, 2}, {})) == numbers(4, 0));
  CHECK(bench.device
            .run(kernels::batched_matmul{}, bench.real({0, 2, 3}, {}), bench.real({0, 3, 1}, {}))
            .shape() == glia::shape{0, 2, 1});
  // As many rows of nothing as would take ages.
  const auto wide = bench.device.run(kernels::full{{0, std::size_t{1} << 50}, 0});
  const auto tall = bench.device.run(kernels::permute_axes{{1, 0}}, wide);
  CHECK(bench.device.run(kernels::slice{0, 5, std::size_t{1} << 49}, tall).size() == 0);
  CHECK(bench.concat(1, tall, tall).size() == 0);
  CHECK(bench.device.run(kernels::pad{1, 0, 0}, tall).size() == 0);
}

TEMPLATE_LIST_TEST_CASE("numbers without axes are arranged, too", "", backends) {
  const desk bench{TestType()};
  using numbers = std::vector<float>;
  const auto number = bench.real({}, {1});
  CHECK(bench.run(kernels::permute_axes{}, number) == numbers{1});
  CHECK(bench.run(kernels::select{}, number, bench.real({}, {2}), bench.real({}, {3})) ==
        numbers{2});
  const auto row =
      bench.device.run(kernels::gather{}, bench.counted({3, 2}), bench.indices({}, {1}));
  CHECK(row.shape() == glia::shape{2});
  CHECK(bench.run(kernels::scatter_add{2}, row, bench.indices({}, {0})) == numbers{2, 3, 0, 0});
}
