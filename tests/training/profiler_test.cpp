#include <fstream>
#include <glia/training/profiler.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

/// A convolution that trains depth-first, and a product behind it.
auto profiled_network() {
  using namespace glia;
  return sequential{conv2d{.filters = 16, .kernel_size = 2},
                    dropout{0.5},
                    max_pool2d{3},
                    flatten{},
                    dense{5, glia::tanh},
                    dense{4}};
}

struct bright_images {
  [[nodiscard]] static std::size_t size() { return 256; }
  [[nodiscard]] static glia::shape input_shape() { return {19, 19, 2}; }
  static void input(std::size_t i, std::span<float> values) {
    std::fill(values.begin(), values.end(), static_cast<float>(i % 4));
  }
  [[nodiscard]] static std::int32_t label(std::size_t i) {
    return static_cast<std::int32_t>(i % 4);
  }
};

/// Trains for 16 steps.
glia::profiler profiled(const glia::profiler& p, bool depth_first = true) {
  glia::model net{
      profiled_network(), {19, 19, 2}, glia::cpu<float>(), {.depth_first = depth_first}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  trainer.fit(bright_images{},
              {.epochs = 4, .batch_size = 64, .progress = nullptr, .callbacks = {p}});
  return p;
}

double flops_of(const glia::profile& p, const std::string& layer, glia::step_phase phase) {
  double sum = 0;
  for (const glia::profile_entry& e : p.entries) {
    sum += e.layer == layer && e.phase == phase ? e.flops : 0;
  }
  return sum;
}

}  // namespace

TEST_CASE("a profile names the layers of all kernels, in all phases, and counts their steps") {
  const glia::profiler p = profiled(glia::profiler({}, {.skip = 2, .steps = 5}));
  const glia::profile& found = p.result();
  // The second epoch's first step is not looked at: what is between epochs belongs to no step.
  CHECK(found.steps == 5);
  CHECK(found.first_step == 3);
  CHECK(found.batch_size == 64);
  CHECK(found.seconds > 0);
  CHECK(found.accounted() <= 1);
  CHECK(found.peak_flops > 0);
  std::set<std::string> named;
  for (const glia::profile_entry& e : found.entries) {
    named.insert(e.layer);
    CHECK(e.calls % 5 == 0);
    CHECK(e.seconds > 0);
    CHECK(e.bytes > 0);
  }
  // Reshapes are done by no kernel.
  CHECK(named == std::set<std::string>{"conv2d_0", "dropout_0", "max_pool2d_0", "dense_0",
                                       "dense_1", "loss", "metrics"});
  using glia::step_phase;
  for (const auto* layer : {"conv2d_0", "dense_0", "dense_1"}) {
    for (const auto phase : {step_phase::forward, step_phase::backward, step_phase::update}) {
      CAPTURE(layer, static_cast<int>(phase));
      CHECK(flops_of(found, layer, phase) > 0);
    }
  }
  // Of the plan for one sample: a product is the same work for each.
  const glia::model_plan plan = glia::plan_model(profiled_network(), {19, 19, 2});
  CHECK(flops_of(found, "dense_1", step_phase::forward) == 5 * 64 * (plan.layers.back().flops));
  // The gradients to the input and to the weights are such products as well.
  CHECK(flops_of(found, "dense_1", step_phase::backward) >=
        2 * flops_of(found, "dense_1", step_phase::forward) * 0.9);
}

TEST_CASE("the parts of a step add up to it, what is no kernel in a column of its own") {
  const glia::profile found = profiled(glia::profiler({}, {.measure_peak = false})).result();
  const auto rows = found.layer_rows();
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) -
                                    rows[0].begin());
  };
  const auto sum = [&](const std::string& name) {
    double total = 0;
    for (std::size_t i = 1; i + 1 < rows.size(); ++i) {
      const std::string& cell = rows[i][column(name)];
      total += cell.empty() ? 0 : std::stod(cell);
    }
    return total;
  };
  for (const auto* name : {"forward ms", "backward ms", "update ms", "other ms", "share %"}) {
    CAPTURE(name);
    const std::string& total = rows.back()[column(name)];
    // Half of the last digit for each of the rows.
    const double digit = total.size() - total.find('.') == 2 ? 0.1 : 0.001;
    CHECK(std::abs(sum(name) - std::stod(total)) <= 0.5 * digit * static_cast<double>(rows.size()));
  }
  CHECK(rows.back()[column("share %")] == "100.0");
  const auto data =
      std::find_if(rows.begin(), rows.end(), [](const auto& r) { return r[0] == "data"; });
  REQUIRE(data != rows.end());
  CHECK((*data)[column("forward ms")].empty());
  CHECK_FALSE((*data)[column("other ms")].empty());
  CHECK(test::contains(glia::profile{}.note(), "No step was measured"));
}

TEST_CASE("what ran side by side in lanes counts for a profile as what ran one by one") {
  const auto whole = profiled(glia::profiler({}, {.measure_peak = false}), false).result();
  const auto pieces = profiled(glia::profiler({}, {.measure_peak = false}), true).result();
  CHECK(whole.steps == pieces.steps);
  CHECK(whole.peak_flops == 0);
  using glia::step_phase;
  for (const auto phase : {step_phase::forward, step_phase::backward}) {
    CHECK(flops_of(pieces, "conv2d_0", phase) == flops_of(whole, "conv2d_0", phase));
  }
}

TEST_CASE("a profile knows what the training keeps in memory") {
  const glia::profile found = profiled(glia::profiler{}).result();
  const std::size_t parameters = 2 * 2 * 2 * 16 + 16 + 6 * 6 * 16 * 5 + 5 + 5 * 4 + 4;
  CHECK(found.memory.training.parameters == parameters * sizeof(float));
  CHECK(found.memory.training.optimizer_state == 2 * parameters * sizeof(float));
  CHECK(found.memory.training.graph > 0);
  CHECK(found.memory.peak >= found.memory.baseline);
  CHECK(test::contains(found.memory_table(), "peak resident memory"));
}

TEST_CASE("the trace is JSON with a row for each thread, within its steps") {
  const test::temporary_folder folder;
  const glia::profiler p = profiled(glia::profiler(folder.path() / "a/b", {.skip = 1, .steps = 4}));
  const auto trace = nlohmann::json::parse(test::file_content(folder.path() / "a/b/trace.json"));
  std::map<std::string, std::size_t> kinds;
  std::vector<std::pair<double, double>> steps;
  for (const auto& e : trace.at("traceEvents")) {
    ++kinds[e.at("ph").get<std::string>()];
    if (e.at("ph") == "X" && e.at("cat") == "step") {
      steps.emplace_back(e.at("ts").get<double>(),
                         e.at("ts").get<double>() + e.at("dur").get<double>());
    }
  }
  CHECK(steps.size() == 4);
  CHECK(kinds["C"] == 4);
  CHECK(kinds["M"] == 1 + p.trace().rows());
  CHECK(p.trace().rows() >= 1);
  CHECK(p.trace().rows() <= glia::cpu<float>().threads());
  std::set<std::string> phases;
  std::set<std::size_t> threads;
  for (const auto& e : trace.at("traceEvents")) {
    if (e.at("ph") != "X" || e.at("cat") == "step") {
      continue;
    }
    phases.insert(e.at("cat").get<std::string>());
    threads.insert(e.at("tid").get<std::size_t>());
    const double begin = e.at("ts").get<double>();
    const double end = begin + e.at("dur").get<double>();
    constexpr double rounding = 0.002;  // microseconds, printed with three digits
    CHECK(std::any_of(steps.begin(), steps.end(), [&](const auto& s) {
      return s.first - rounding <= begin && end <= s.second + rounding;
    }));
  }
  CHECK(phases == std::set<std::string>{"backward", "forward", "other", "stretch", "update"});
  // Viewers merge a thread 0 with another, and take 1, the process's own number, for the main one.
  CHECK(*threads.begin() == 1);
  CHECK(*threads.rbegin() == threads.size());
  const std::string text = test::file_content(folder.path() / "a/b/profile.txt");
  CHECK(test::contains(text, "conv2d_0"));
  CHECK(test::contains(text, "64 samples each"));

  std::ofstream(folder.path() / "file") << "no folder";
  CHECK_THROWS_AS(profiled(glia::profiler(folder.path() / "file")), glia::data_error);
}

TEST_CASE("a profile changes no number of the training") {
  const auto train = [](bool watched) {
    glia::model net{profiled_network(), {19, 19, 2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
    glia::fit_options options{.epochs = 2, .batch_size = 50, .progress = nullptr};
    if (watched) {
      options.callbacks = {glia::profiler{}};
    }
    trainer.fit(bright_images{}, options);
    return trainer.state().tensors;
  };
  CHECK(train(true) == train(false));
}

TEST_CASE("texts of a trace are JSON whatever is in them") {
  CHECK(glia::chrome_trace::quoted("a\"b\\c\n") == "\"a\\\"b\\\\c\\u000a\"");
}
