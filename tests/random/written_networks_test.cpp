#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <glia/onnx.hpp>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "onnx/other_runtimes.hpp"
#include "random/networks.hpp"
#include "random/seeds.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

// Random networks that are written as ONNX and read again give what they gave, for batches of
// several sizes, and ONNX Runtime, where it is there, gives the same.
namespace {

xt::xarray<float> numbers_of(const glia::shape& s, std::mt19937& random) {
  std::normal_distribution<float> normal;
  xt::xarray<float> x = xt::zeros<float>(std::vector<std::size_t>(s.begin(), s.end()));
  for (float& element : x) {
    element = normal(random);
  }
  return x;
}
xt::xarray<float> integers_of(const glia::shape& s, std::size_t bound, std::mt19937& random) {
  xt::xarray<float> x = xt::zeros<float>(std::vector<std::size_t>(s.begin(), s.end()));
  for (float& element : x) {
    element = static_cast<float>(random() % bound);
  }
  return x;
}

/// How far apart numbers are, beside how large they are.
double apart(const xt::xarray<float>& a, const xt::xarray<float>& b) {
  return test::distance(a, b) / (1 + static_cast<double>(xt::amax(xt::abs(b))()));
}

}  // namespace

TEST_CASE("random networks give the same after they are written as ONNX and read again") {
  const auto [first, count] = test::random::seeds(400);
  constexpr std::uint32_t each_for_other_runtime = 40;
  // Numbers of sizes and layers that meet extents of 1 often.
  constexpr test::random::draw_options smaller{
      .largest_extent = 6, .most_channels = 6, .most_layers = 6};
  static const auto python = test::python_with("onnxruntime");
  std::size_t run_by_others = 0;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const auto seed = static_cast<std::uint32_t>(number);
    const test::random::drawn drawn = test::random::network_source(seed, smaller).draw();
    INFO("seed " << seed << ", samples " << drawn.sample << ": " << drawn.net.description());
    std::mt19937 random(seed);
    glia::model net{drawn.net, drawn.sample};
    for (const auto& p : net.parameters()) {
      const bool variance = test::contains(p.spec.name, "variance");
      xt::xarray<float> numbers = 0.5F * numbers_of(p.spec.shape, random);
      net.set(p.spec.name,
              variance ? xt::xarray<float>(xt::abs(numbers) + 0.5F) : std::move(numbers));
    }
    const test::temporary_folder scratch;
    const auto file = scratch.path() / "net.onnx";
    std::optional<glia::model<glia::onnx_model>> restored;
    REQUIRE_NOTHROW(glia::write_onnx(net, file));
    REQUIRE_NOTHROW(restored.emplace(glia::onnx_model{file}));
    for (const std::size_t rows : {3U, 1U, 2U}) {
      INFO(rows << " samples");
      const glia::shape batch = glia::batch_of(rows, drawn.sample);
      const xt::xarray<float> x = drawn.integers > 0 ? integers_of(batch, drawn.integers, random)
                                                     : numbers_of(batch, random);
      const xt::xarray<float> y = net.predict(x);
      xt::xarray<float> z;
      REQUIRE_NOTHROW(z = restored->predict(x));
      REQUIRE(z.shape() == y.shape());
      CHECK(apart(z, y) < 1e-4);
      if (python && rows == 3 && seed % each_for_other_runtime == 0) {
        const std::vector<float> outputs = test::run_by("onnxruntime", *python, file, x);
        REQUIRE(outputs.size() == y.size());
        xt::xarray<float> actual = y;
        std::copy(outputs.begin(), outputs.end(), actual.begin());
        CHECK(apart(actual, y) < 1e-3);
        ++run_by_others;
      }
    }
  }
  WARN(count << " networks written and read again, " << run_by_others << " run by ONNX Runtime");
}
