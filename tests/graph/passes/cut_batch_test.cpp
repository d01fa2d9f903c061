#include <glia/graph/passes.hpp>

#include "catch.hpp"
#include "graph/attention.hpp"
#include "graph/recorded_pass.hpp"
#include "helpers.hpp"

namespace {

using B = glia::cpu<float>;

/// Convolutions of every kind, nested and residual, before and after a batch normalization, with
/// dropout on both sides, behind a dense layer so that the first stretch has an input gradient.
auto lane_description() {
  using namespace glia;
  const auto same3 = [](std::size_t filters, std::size_t groups) {
    return conv2d{.filters = filters,
                  .kernel_size = 3,
                  .padding = same,
                  .groups = groups,
                  .activation = relu};
  };
  return sequential{
      dense{9 * 10 * 2, glia::tanh},
      reshape{{9, 10, 2}},
      sequential{conv2d{.filters = 16, .kernel_size = 2, .padding = same, .activation = relu},
                 max_pool2d{}, dropout{0.3}},
      residual{sequential{same3(16, 1), same3(16, 16)}},
      conv2d{.filters = 8,
             .kernel_size = 1,
             .use_bias = false},  // no gradient gets through to one here
      max_pool2d{},
      batch_norm{},
      same3(8, 2),
      avg_pool2d{},
      dropout{0.2},
      flatten{},
      dense{3}};
}

/// Recorded with stretches however little passes between their nodes.
glia::graph cut(glia::graph g, std::size_t rows, std::size_t most_samples) {
  glia::passes::cut_batch(g, rows,
                          {.worthwhile_bytes = 0, .most_samples = most_samples, .packing_cost = 0});
  return g;
}

template <class Description>
test::pass_results run(const Description& layers, std::size_t threads, bool in_stretches) {
  glia::model net{layers, {12}, B({.threads = threads}), {.seed = 3}};
  const test::recorded_pass pass(net, 37, {.fuse = true, .cut = in_stretches, .always = true});
  CHECK(pass.calls().stretches().empty() != in_stretches);
  return pass(net, glia::testing::test_values({37, 12}, 1), {.seed = 7, .step = 2});
}

/// The largest difference, relative to the largest element of each tensor.
double relative_distance(const test::pass_results& a, const test::pass_results& b) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    double largest = 0;
    for (const float value : a[i]) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    CHECK(largest > 0);
    worst = std::max(worst, test::distance(a[i], b[i]) / largest);
  }
  return worst;
}

/// The kernels of a graph's stretches, one line for each.
std::vector<std::string> stretches_of(const glia::graph& g) {
  std::vector<std::string> result;
  for (const glia::stretch& s : g.stretches()) {
    std::string line;
    for (std::size_t n = s.first; n < s.end; ++n) {
      line += (line.empty() ? "" : " ") + std::string(g.nodes()[n].kernel.name());
    }
    result.push_back(line);
  }
  return result;
}

}  // namespace

TEST_CASE("a cut batch gives the same numbers, and the same bits on 1, 2, 3 threads") {
  // 37 samples: lanes of two and three, and pieces that do not fill.
  const auto check = [](const auto& layers) {
    const auto cut = run(layers, 1, true);
    const auto whole = run(layers, 1, false);
    CHECK(relative_distance(whole, cut) < 1e-5);
    for (const std::size_t threads : {std::size_t{2}, std::size_t{3}}) {
      CHECK(run(layers, threads, true) == cut);
      CHECK(run(layers, threads, false) == whole);
    }
  };
  check(lane_description());
  check(glia::sequential{glia::dense{48}, test::attention{}, glia::dense{3}});
}

TEST_CASE("attention treats samples on their own") {
  const glia::model net{
      glia::sequential{glia::dense{48}, test::attention{}, glia::dense{3}}, {12}, B()};
  const test::recorded_pass pass(net, 37, {.fuse = false, .cut = true, .always = true});
  std::string lines;
  for (const std::string& line : stretches_of(pass.calls())) {
    lines += line + ' ';
  }
  for (const char* name : {"gather", "slice", "permute_axes", "batched_matmul", "select", "concat",
                           "pad", "scatter_add"}) {
    INFO(lines);
    CHECK(test::contains(lines, name));
  }
}

TEST_CASE("large batches of images run in pieces as large as a cache, small ones whole") {
  const auto stretch_of = [](std::size_t extent, std::size_t samples) {
    glia::model net{
        glia::sequential{glia::conv2d{.filters = 16, .kernel_size = 3}, glia::max_pool2d{},
                         glia::conv2d{.filters = 16, .kernel_size = 3}, glia::flatten{}},
        {extent, extent, 1}};
    return net.prepare({.batch_size = samples}).calls().stretches();
  };
  REQUIRE(stretch_of(40, 200).size() == 1);
  CHECK(stretch_of(40, 200)[0].piece == 8);
  CHECK(stretch_of(40, 200)[0].rows == 200);
  CHECK(stretch_of(300, 16)[0].piece < 8);
  CHECK(stretch_of(40, 5).empty());
  CHECK(stretch_of(8, 20).empty());  // all of it stays in the cache
}

TEST_CASE("batch normalization in training ends a stretch") {
  glia::model net{lane_description(), {12}, B({.threads = 1})};
  const test::recorded_pass pass(net, 37, {.always = true});
  std::size_t convolutions = 0;
  for (const std::string& kernels : stretches_of(pass.calls())) {
    CHECK_FALSE(test::contains(kernels, "normalize"));
    convolutions += test::contains(kernels, "conv2d") ? 1U : 0U;
  }
  CHECK(convolutions == 3);  // before it, all behind it, and the way back before it
}

TEST_CASE("a product whose weights are larger than a piece stays whole") {
  const glia::recorder rec;
  const auto x = rec.input("x", glia::real_of({1024, 64}));
  const auto w = rec.input("w", glia::real_of({64, 4096}));
  auto y = rec.run(kernels::dense{}, x, w, glia::tensor{});
  for (int i = 0; i < 3; ++i) {
    y = rec.run(kernels::unary{glia::gelu.map}, y);
  }
  rec.output("y", y);
  rec.output("dw", rec.run(kernels::matmul{glia::transpose::first}, x, y));
  CHECK(stretches_of(cut(rec.recorded(), 1024, 8)) ==
        std::vector<std::string>{"unary unary unary"});
}

TEST_CASE("what depends on a stretch from outside comes behind it, all else before") {
  const glia::recorder rec;
  const auto x = rec.input("x", glia::real_of({32, 4, 4, 2}));
  const auto w = rec.input("w", glia::real_of({1, 1, 2, 2}));
  const auto first = rec.run(kernels::conv2d{{1, 1}}, x, w, glia::tensor{});
  const auto total = rec.run(kernels::sum_to{{}}, w);  // of no stretch
  const auto second = rec.run(kernels::conv2d{{1, 1}}, first, w, glia::tensor{});
  const auto mean = rec.run(kernels::normalize{glia::normalization::batch, 1e-3}, second,
                            rec.run(kernels::full{{2}, 1}), rec.run(kernels::full{{2}, 0}))[0];
  const auto activated = rec.run(kernels::unary{glia::relu.map}, second);
  rec.output("total", total);
  rec.output("mean", mean);
  rec.output("three", activated);
  const glia::graph g = cut(rec.recorded(), 32, 8);
  CHECK(stretches_of(g) == std::vector<std::string>{"conv2d conv2d unary"});
  REQUIRE(g.stretches().size() == 1);
  CHECK(g.stretches()[0].first == 3);
  CHECK(g.nodes().back().kernel.name() == "normalize");
  CHECK(stretches_of(cut(rec.recorded(), 31, 8)).empty());  // no batch of 31 samples here
}

TEST_CASE("sums over the samples are summed lane by lane") {
  const B device({.threads = 2});
  const glia::recorder rec;
  const auto x = rec.input("x", glia::real_of({40, 3}));
  const auto y = rec.run(kernels::unary{{glia::unary_function::square}}, x);
  rec.output("sum", rec.run(kernels::sum_to{{3}}, y));
  rec.output("y", y);
  const glia::graph g = cut(rec.recorded(), 40, 2);
  REQUIRE(stretches_of(g) == std::vector<std::string>{"unary sum_to"});
  const glia::program run(g, device);
  std::vector<float> values(120);
  std::vector<double> expected(3, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i % 7);
    expected[i % 3] += static_cast<double>(i % 7 * (i % 7));
  }
  auto input = test::tensor_of(device, {40, 3}, values);
  glia::tensor* const inputs[] = {&input};
  std::vector<glia::tensor> out(2);
  run.run(inputs, out);
  CHECK(test::distance(test::values_of(device, out[0]), expected) == 0);
  CHECK(test::values_of(device, out[1])[119] == values[119] * values[119]);
}

TEST_CASE("dropout in a stretch draws each sample's own numbers") {
  const B device({.threads = 2});
  const glia::recorder rec;
  const auto x = rec.input("x", glia::real_of({50, 6}));
  const auto key = rec.input("key", {{glia::step_key::words}, glia::element::index});
  const auto y = rec.run(kernels::dropout{0.5, 4}, x, key);
  rec.output("z", rec.run(kernels::unary{{glia::unary_function::affine, 1, 0.5}}, y));
  const auto words = glia::step_key{.seed = 5, .step = 3}.to_words();
  const auto result = [&](const glia::graph& g) {
    const glia::program run(g, device);
    auto input = device.run(kernels::full{{50, 6}, 1});
    auto random = device.from_host(std::span<const std::int32_t>(words), {words.size()});
    glia::tensor* const inputs[] = {&input, &random};
    std::vector<glia::tensor> out(1);
    run.run(inputs, out);
    return test::values_of(device, out[0]);
  };
  const glia::graph g = cut(rec.recorded(), 50, 2);
  REQUIRE(stretches_of(g) == std::vector<std::string>{"dropout unary"});
  CHECK(result(g) == result(rec.recorded()));
}
