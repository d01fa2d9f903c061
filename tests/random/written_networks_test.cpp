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
#include "random/seeds.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

// Random networks that are written as ONNX and read again give what they gave, for batches of
// several sizes, and ONNX Runtime, where it is there, gives the same.
namespace {

using glia::any_layer;
using glia::layer_stack;

/// Random layers that fit one behind the other.
class random_layers {
 public:
  explicit random_layers(std::uint32_t seed) : random_(seed) {}

  struct network {
    glia::shape sample;
    layer_stack<> layers;
  };

  [[nodiscard]] network make() {
    glia::shape sample;
    switch (below(3)) {
      case 0:
        sample = {4 + below(5), 4 + below(5), 1 + below(4)};
        break;
      case 1:
        sample = {2 + below(4), 1 + below(5)};
        break;
      default:
        sample = {1 + below(3), 2 + below(3), 1 + below(4)};
    }
    const glia::shape whole = sample;
    return {whole, stack(sample, 1 + below(6), 3)};
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  bool odds(std::size_t of) { return below(of) == 0; }

  /// So many layers for samples of this shape, which becomes that of what they give.
  layer_stack<> stack(glia::shape& s, std::size_t count, std::size_t depth) {
    std::vector<any_layer> layers;
    for (std::size_t tries = 0; layers.size() < count && tries < 20 * count; ++tries) {
      const any_layer next = layer_for(s, depth);
      try {
        const glia::model_plan plan = glia::plan_model(layer_stack<>{{next}}, s);
        s = glia::sample_of(plan.output);
        layers.push_back(next);
      } catch (const glia::error&) {  // it does not fit
      }
    }
    return layer_stack<>{layers};
  }

  glia::activation activation() {
    switch (below(6)) {
      case 0:
        return glia::relu;
      case 1:
        return glia::tanh;
      case 2:
        return glia::gelu;
      case 3:
        return glia::swish;
      case 4:
        return glia::sigmoid;
      default:
        return glia::linear;
    }
  }

  any_layer layer_for(const glia::shape& s, std::size_t depth) {
    if (depth > 0 && odds(3)) {
      return holder_for(s, depth);
    }
    if (odds(s.rank() == 1 ? 2 : 4)) {
      return anywhere(s);
    }
    switch (s.rank()) {
      case 1:
        return glia::dense{1 + below(6), activation()};
      case 2:
        return for_sequences(s);
      default:
        return for_images(s);
    }
  }

  any_layer anywhere(const glia::shape& s) {
    switch (below(7)) {
      case 0:
        return glia::batch_norm{};
      case 1:
        return glia::layer_norm{};
      case 2:
        return glia::rms_norm{};
      case 3:
        return glia::group_norm{.groups = s.back() % 2 == 0 ? 2U : 1U};
      case 4:
        return glia::flatten{};
      case 5:
        return glia::lambda{"twice", [](auto x) { return x + x * x; }};
      default:
        return activation();
    }
  }

  any_layer for_sequences(const glia::shape& s) {
    const std::size_t units = odds(2) ? s[1] : 1 + below(5);
    const bool all = odds(2);
    const bool back = odds(3);
    switch (below(10)) {
      case 0:
        return glia::gru{.units = units, .sequences = all, .backwards = back};
      case 1:
        return glia::lstm{.units = units, .sequences = all, .backwards = back};
      case 2:
        return glia::simple_rnn{.units = units, .sequences = all, .backwards = back};
      case 3:
        return glia::bidirectional(glia::gru{.units = units, .sequences = all});
      case 4:
        return glia::bidirectional(glia::lstm{.units = units, .sequences = all}, glia::join::add{});
      case 5:
        return glia::conv1d{.filters = units, .kernel = 1 + below(3), .stride = 1 + below(2)};
      case 6:
        return glia::multi_head_attention{
            .heads = 1 + below(2), .key_size = 1 + below(3), .causal = odds(2)};
      case 7:
        return glia::positional_encoding{};
      case 8:
        return odds(2) ? any_layer{glia::max_pool1d{.window = 2}}
                       : any_layer{glia::global_avg_pool1d{}};
      default:
        return glia::reshape{{s[0] * s[1], 1}};
    }
  }

  any_layer convolution(std::size_t filters, std::size_t kernel, std::size_t stride,
                        const glia::padding2d& padding) {
    return glia::conv2d{.filters = filters,
                        .kernel = kernel,
                        .stride = stride,
                        .padding = padding,
                        .activation = activation()};
  }

  any_layer for_images(const glia::shape& s) {
    const std::size_t filters = 1 + below(5);
    const std::size_t kernel = 1 + below(3);
    const std::size_t stride = 1 + below(2);
    switch (below(10)) {
      case 0:
      case 1:
        return odds(2) ? convolution(filters, kernel, stride, glia::same)
                       : convolution(filters, kernel, stride, glia::valid);
      case 2:
        return glia::depthwise_conv2d{.kernel = kernel, .stride = stride, .multiplier = stride};
      case 3:
        return glia::separable_conv2d{.filters = filters, .kernel = kernel};
      case 4:
        return glia::max_pool2d{.window = kernel, .stride = stride};
      case 5:
        return odds(2) ? any_layer{glia::avg_pool2d{.window = kernel}}
                       : any_layer{glia::global_avg_pool2d{}};
      case 6:
        return glia::zero_pad2d{glia::border2d(below(2), below(2), 1, 0)};
      case 7:
        return glia::crop2d{glia::border2d(below(2), 0, 0, below(2))};
      case 8:
        return glia::upsample2d{.factor = 2};
      default:
        return glia::reshape{{s[0] * s[1], s[2]}};
    }
  }

  any_layer holder_for(const glia::shape& s, std::size_t depth) {
    glia::shape a = s;
    glia::shape b = s;
    switch (s.rank() > 1 && odds(3) ? 5 : below(5)) {
      case 0:
        return glia::residual{stack(a, 1 + below(2), depth - 1)};
      case 1:
        return glia::parallel{stack(a, 1 + below(2), depth - 1), stack(b, 1, depth - 1)};
      case 2:
        return glia::parallel{glia::join::add{}, glia::identity{}, stack(b, 1, depth - 1)};
      case 3:
        return glia::named{glia::text("part", ++names_), stack(a, 1 + below(2), depth - 1)};
      case 4:
        return glia::frozen{stack(a, 1, depth - 1)};
      default: {
        glia::shape step(s.begin() + 1, s.end());
        return glia::time_distributed{stack(step, 1 + below(3), depth - 1)};
      }
    }
  }

  std::mt19937 random_;
  int names_ = 0;
};

xt::xarray<float> drawn(const glia::shape& s, std::mt19937& random) {
  std::normal_distribution<float> normal;
  xt::xarray<float> x = xt::zeros<float>(std::vector<std::size_t>(s.begin(), s.end()));
  for (float& one : x) {
    one = normal(random);
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
  static const auto python = test::python_with("onnxruntime");
  std::size_t run = 0;
  std::size_t run_by_others = 0;
  for (std::uint64_t at = first; at < first + count; ++at) {
    const auto seed = static_cast<std::uint32_t>(at);
    const auto [sample, layers] = random_layers(seed).make();
    INFO("seed " << seed << ", samples " << sample << ": " << layers.description());
    std::mt19937 random(seed);
    glia::model net{layers, sample};
    for (const auto& p : net.parameters()) {
      const bool variance = test::contains(p.spec.name, "variance");
      xt::xarray<float> numbers = 0.5F * drawn(p.spec.shape, random);
      net.set(p.spec.name,
              variance ? xt::xarray<float>(xt::abs(numbers) + 0.5F) : std::move(numbers));
    }
    const test::temporary_folder scratch;
    const auto file = scratch.path() / "net.onnx";
    std::optional<glia::model<glia::onnx_model>> again;
    REQUIRE_NOTHROW(glia::write_onnx(net, file));
    REQUIRE_NOTHROW(again.emplace(glia::onnx_model{file}));
    for (const std::size_t rows : {3U, 1U, 2U}) {
      INFO(rows << " samples");
      const xt::xarray<float> x = drawn(glia::batch_of(rows, sample), random);
      const xt::xarray<float> y = net.predict(x);
      xt::xarray<float> z;
      REQUIRE_NOTHROW(z = again->predict(x));
      REQUIRE(z.shape() == y.shape());
      CHECK(apart(z, y) < 1e-4);
      if (python && rows == 3 && seed % each_for_other_runtime == 0) {
        const std::vector<float> others = test::run_by("onnxruntime", *python, file, x);
        REQUIRE(others.size() == y.size());
        xt::xarray<float> given = y;
        std::copy(others.begin(), others.end(), given.begin());
        CHECK(apart(given, y) < 1e-3);
        ++run_by_others;
      }
    }
    ++run;
  }
  CHECK(run == count);
  WARN(run << " networks written and read again, " << run_by_others << " run by ONNX Runtime");
}
