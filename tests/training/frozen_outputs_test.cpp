#include <atomic>
#include <csignal>
#include <glia/training/progress.hpp>
#include <mutex>
#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::dense;
using glia::dropout;
using glia::frozen;
using glia::sequential;

/// Which samples were asked for and in which epoch, counted over all threads.
struct witness {
  std::mutex mutex;
  std::vector<std::size_t> asked = std::vector<std::size_t>(1000, 0);
  std::vector<std::size_t> epochs;
  std::size_t interrupt_at = 1000;  // the sample that Ctrl-C comes with

  void see(std::size_t sample) {
    const std::lock_guard lock(mutex);
    ++asked.at(sample);
    if (sample == interrupt_at) {
      std::raise(SIGINT);
    }
  }
  [[nodiscard]] std::vector<std::size_t> first(std::size_t count) const {
    return {asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(count)};
  }
};

/// Small images whose class, or whose two targets, follow from them.
struct labeled_images {
  std::size_t count = 50;
  std::shared_ptr<witness> requests = std::make_shared<witness>();

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] static glia::shape input_shape() { return {6, 5, 2}; }
  static void fill(std::size_t i, std::span<float> values) {
    for (std::size_t index = 0; index < values.size(); ++index) {
      values[index] =
          static_cast<float>(glia::detail::random_bits({.seed = 8}, 60 * i + index) * 0x1p-31 - 1);
    }
  }
  void input(std::size_t i, std::span<float> values) const {
    requests->see(i);
    fill(i, values);
  }
  [[nodiscard]] static std::int32_t label(std::size_t i) {
    std::vector<float> values(60);
    fill(i, values);
    return (values[0] > 0 ? 1 : 0) + (values[1] > 0 ? 1 : 0);
  }
};

struct valued_images {
  labeled_images images{};

  [[nodiscard]] std::size_t size() const { return images.size(); }
  [[nodiscard]] static glia::shape input_shape() { return labeled_images::input_shape(); }
  void input(std::size_t i, std::span<float> values) const { images.input(i, values); }
  [[nodiscard]] static glia::shape target_shape() { return {3}; }
  static void target(std::size_t i, std::span<float> values) {
    std::vector<float> image(60);
    labeled_images::fill(i, image);
    std::copy_n(image.begin(), 3, values.begin());
  }
};

/// As an augmented data set is.
struct varying_images {
  labeled_images images{};
  bool changes = true;

  [[nodiscard]] std::size_t size() const { return images.size(); }
  [[nodiscard]] static glia::shape input_shape() { return labeled_images::input_shape(); }
  void input(std::size_t i, std::span<float> values) const { images.input(i, values); }
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch = 0) const {
    {
      const std::lock_guard lock(images.requests->mutex);
      images.requests->epochs.push_back(epoch);
    }
    for (std::size_t n = 0; n < samples.size(); ++n) {
      const auto image = values.subspan(n * 60, 60);
      images.input(samples[n], image);
      image[7] += changes ? static_cast<float>(epoch) : 0;
    }
  }
  [[nodiscard]] bool varies() const { return changes; }
  [[nodiscard]] static std::int32_t label(std::size_t i) { return labeled_images::label(i); }
};
static_assert(glia::varying_dataset<varying_images> && !glia::varying_dataset<labeled_images>);

/// Layers that draw random numbers and keep statistics on both sides of the border.
auto network() {
  return glia::model{
      sequential{frozen{sequential{conv2d{.filters = 5, .kernel_size = 3, .activation = glia::relu},
                                   batch_norm{}, dropout{0.5}}},
                 glia::max_pool2d{.pool_size = {2, 1}},
                 conv2d{.filters = 6, .kernel_size = 1, .activation = glia::relu}, batch_norm{},
                 glia::flatten{}, dropout{0.2}, dense{3}},
      {6, 5, 2}};
}

struct outcome {
  glia::history history;
  glia::history second_history;  // a second call of fit
  std::vector<std::vector<float>> weights;
  std::string printed;
};

template <class Loss, class Train, class Validation>
outcome train(const Loss& loss, const Train& data, const Validation& validation,
              const glia::frozen_output_options& frozen_outputs) {
  auto net = network();
  glia::trainer trainer{net, loss, glia::adam{0.01}};
  std::ostringstream out;
  const glia::fit_options options{
      .epochs = 3, .batch_size = 8, .progress = &out, .frozen_outputs = frozen_outputs};
  outcome result;
  result.history = trainer.fit(data, validation, options);
  result.second_history = trainer.fit(data, options);
  for (const auto& p : net.parameters()) {
    const auto values = net.get(p.spec.name);
    result.weights.emplace_back(values.begin(), values.end());
  }
  result.printed = out.str();
  return result;
}

double distance(const glia::history& a, const glia::history& b) {
  double worst = a.epochs.size() == b.epochs.size() ? 0 : INFINITY;
  const auto compare = [&](const glia::scores& first, const glia::scores& second) {
    worst =
        std::max({worst, std::abs(first.loss - second.loss) / std::max(1.0, std::abs(first.loss)),
                  test::distance(first.metric_values, second.metric_values)});
  };
  for (std::size_t i = 0; i < a.epochs.size() && i < b.epochs.size(); ++i) {
    compare(a.epochs[i].training, b.epochs[i].training);
    CHECK(a.epochs[i].samples == b.epochs[i].samples);
    CHECK(a.epochs[i].learning_rate == b.epochs[i].learning_rate);
    REQUIRE(a.epochs[i].validation.has_value() == b.epochs[i].validation.has_value());
    if (a.epochs[i].validation) {
      compare(*a.epochs[i].validation, *b.epochs[i].validation);
    }
  }
  return worst;
}

double distance(const outcome& a, const outcome& b) {
  double worst =
      std::max(distance(a.history, b.history), distance(a.second_history, b.second_history));
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    worst = std::max(worst, test::distance(a.weights[i], b.weights[i]));
  }
  return worst;
}

template <class Loss, class Data>
void check_that_keeping_changes_nothing(const Loss& loss, const Data& data, const Data& validation,
                                        std::size_t metrics) {
  const test::temporary_folder folder;
  const outcome every_step = train(loss, data, validation, {.cache = false});
  const outcome cached = train(loss, data, validation, {.batch_size = 7});
  REQUIRE(cached.history.epochs.size() == 3);
  CHECK(cached.history.metrics.size() == metrics);
  CHECK(cached.history.epochs[0].validation->metric_values.size() == metrics);
  CHECK(distance(every_step, cached) < 2e-5);
  CHECK(cached.history.epochs[2].training.loss < cached.history.epochs[0].training.loss);
  // From a file the very same bits come back.
  const outcome in_file =
      train(loss, data, validation,
            {.storage = {.memory_limit = 0, .folder = folder.path()}, .batch_size = 7});
  CHECK(distance(in_file, cached) == 0);
  CHECK(contains(cached.printed, "kept in memory, "));
  CHECK(contains(in_file.printed, "kept in a file, "));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 0);
}

/// "12.34 s  5.67 k images/s" and the like, which differ from run to run, as dots.
std::string without_times(const std::string& lines) {
  std::istringstream stream(lines);
  std::string result;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t begin = line.find("  ");
    const std::size_t rate = line.find("images/s");
    result +=
        rate == std::string::npos ? line : line.substr(0, begin) + " ... " + line.substr(rate);
    result += '\n';
  }
  return result;
}

const std::string cached_note = "the outputs of the frozen layers were computed once and cached";
const std::string uncached_note = "the frozen layers run in every step, because the options say so";
const std::string varying_note =
    "the frozen layers run in every step, because the training samples change from epoch to epoch "
    "(they are augmented)";

}  // namespace

TEST_CASE("kept outputs of frozen layers train labeled data as the layers themselves do") {
  check_that_keeping_changes_nothing(glia::softmax_cross_entropy{}, labeled_images{50},
                                     labeled_images{21}, 1);
}

TEST_CASE("kept outputs of frozen layers train valued data as the layers themselves do") {
  check_that_keeping_changes_nothing(glia::mean_squared_error{}, valued_images{{50}},
                                     valued_images{{21}}, 0);
}

TEST_CASE("a model that is frozen to its last layer has nothing to train") {
  glia::model net{sequential{glia::flatten{}, frozen{dense{3}}, glia::tanh}, {6, 5, 2}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  for (const bool keep : {true, false}) {
    CHECK(contains(message_of<glia::error>([&] {
                     trainer.fit(valued_images{},
                                 {.progress = nullptr, .frozen_outputs = {.cache = keep}});
                   }),
                   "expected a result that depends on a trainable parameter"));
  }
}

TEST_CASE("frozen layers run once for each sample, unless the options ask for more") {
  for (const bool keep : {true, false}) {
    const labeled_images data;
    const labeled_images validation{20};
    auto net = network();
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
    const auto history = trainer.fit(
        data, validation,
        {.epochs = 4, .batch_size = 9, .progress = nullptr, .frozen_outputs = {.cache = keep}});
    CHECK(history.frozen_layers == (keep ? cached_note : uncached_note));
    CHECK((history.frozen_seconds > 1e-5) == keep);
    CHECK(data.requests->first(50) == std::vector<std::size_t>(50, keep ? 1 : 4));
    CHECK(validation.requests->first(20) == std::vector<std::size_t>(20, keep ? 1 : 4));
    CHECK(data.requests->asked[50] == 0);
    CHECK(trainer.step_count() == 4 * 6);
  }
}

TEST_CASE("a model without frozen layers says nothing of them") {
  const labeled_images data;
  glia::model net{sequential{glia::flatten{}, dense{3}}, {6, 5, 2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  const auto history = trainer.fit(data, {.epochs = 2, .progress = nullptr});
  CHECK(history.frozen_layers.empty());
  CHECK(history.frozen_seconds == 0);
  CHECK(data.requests->first(50) == std::vector<std::size_t>(50, 2));
}

TEST_CASE("samples that vary are not kept, but the validation is") {
  const varying_images data;
  const labeled_images validation{20};
  auto net = network();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  std::ostringstream out;
  const auto history =
      trainer.fit(data, validation, {.epochs = 3, .batch_size = 25, .progress = &out});
  CHECK(history.frozen_layers == varying_note);
  REQUIRE(history.epochs.size() == 3);
  CHECK(data.images.requests->first(50) == std::vector<std::size_t>(50, 3));
  CHECK(validation.requests->first(20) == std::vector<std::size_t>(20, 1));
  CHECK(contains(out.str(), varying_note + "\nfrozen layers, validation  "));
  CHECK_FALSE(contains(out.str(), "frozen layers, training"));

  // The same numbers as when nothing is kept.
  auto other = network();
  glia::trainer second{other, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  const auto every_step = second.fit(
      varying_images{}, validation,
      {.epochs = 3, .batch_size = 25, .progress = nullptr, .frozen_outputs = {.cache = false}});
  CHECK(every_step.frozen_layers == uncached_note);
  CHECK(distance(history, every_step) < 2e-5);
}

TEST_CASE("a validation that varies is computed anew, the training samples are kept") {
  const labeled_images data;
  const varying_images validation{{20}};
  auto net = network();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
  const auto history = trainer.fit(data, validation, {.epochs = 3, .progress = nullptr});
  CHECK(history.frozen_layers == cached_note);
  CHECK(data.requests->first(50) == std::vector<std::size_t>(50, 1));
  CHECK(validation.images.requests->first(20) == std::vector<std::size_t>(20, 3));
}

TEST_CASE("the epoch that varying samples are told counts on over calls of fit") {
  const varying_images data;
  auto net = network();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  const glia::fit_options quiet{.epochs = 2, .batch_size = 25, .progress = nullptr};
  trainer.fit(data, quiet);
  CHECK(data.images.requests->epochs == std::vector<std::size_t>{0, 0, 1, 1});
  trainer.fit(data, quiet);
  CHECK(data.images.requests->epochs == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3, 3});
  // The kept ones of a set that could vary and does not are those of epoch 0; its epochs count too.
  const varying_images constant{{50}, false};
  CHECK(trainer.fit(constant, quiet).frozen_layers == cached_note);
  CHECK(constant.images.requests->epochs == std::vector<std::size_t>{0, 0});
  trainer.fit(data, quiet);
  CHECK(data.images.requests->epochs.back() == 7);
}

TEST_CASE("Ctrl-C while the frozen layers run ends without an epoch") {
  for (const bool in_validation : {false, true}) {
    const labeled_images data;
    const labeled_images validation{20};
    (in_validation ? validation : data).requests->interrupt_at = 3;
    auto net = network();
    const auto original = net.get("dense_0.kernel");
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.1}};
    std::ostringstream out;
    const auto history = trainer.fit(
        data, validation,
        {.epochs = 4, .batch_size = 5, .progress = &out, .frozen_outputs = {.batch_size = 5}});
    CHECK(history.interrupted);
    CHECK(history.epochs.empty());
    CHECK(trainer.step_count() == 0);
    CHECK((net.get("dense_0.kernel") == original));
    CHECK(contains(out.str(), "interrupted; stopped after step 0\n"));
    // At most what the loader had ahead.
    CHECK((in_validation ? validation : data).requests->asked[19] == 0);
    CHECK(validation.requests->asked[0] == (in_validation ? 1U : 0U));
    CHECK(data.requests->asked[49] == (in_validation ? 1U : 0U));
  }
}

TEST_CASE("what a data set throws while the frozen layers run comes out") {
  struct broken : labeled_images {
    void input(std::size_t i, std::span<float> values) const {
      glia::require<glia::data_error>(i != 33, "sample 33 is broken");
      labeled_images::input(i, values);
    }
  };
  auto net = network();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  CHECK(message_of<glia::data_error>([&] { trainer.fit(broken{}, {.progress = nullptr}); }) ==
        "sample 33 is broken");
}

TEST_CASE("options of frozen outputs that cannot be are refused") {
  auto net = network();
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  CHECK(message_of<glia::value_error>([&] {
          trainer.fit(labeled_images{}, {.progress = nullptr, .frozen_outputs = {.batch_size = 0}});
        }) == "fit: expected a batch size of at least 1 for the frozen layers");
  const glia::row_store::options nowhere{.memory_limit = 0, .folder = "/nowhere"};
  CHECK(
      message_of<glia::data_error>([&] {
        trainer.fit(labeled_images{},
                    {.progress = nullptr, .frozen_outputs = {.storage = nowhere}});
      }) ==
      "row_store: the temporary file in /nowhere cannot be used (No such file or directory); free "
      "disk space there, or set row_store::options::folder to another folder or a larger "
      "memory_limit");
  // Neither is looked at where nothing is kept.
  CHECK(trainer
            .fit(labeled_images{},
                 {.progress = nullptr,
                  .frozen_outputs = {.cache = false, .storage = nowhere, .batch_size = 0}})
            .epochs.size() == 1);
}

TEST_CASE("fit says what it does with frozen layers, a line each") {
  const auto lines = [](const glia::frozen_output_options& frozen_outputs) {
    auto net = network();
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.0001}};
    std::ostringstream out;
    trainer.fit(labeled_images{50}, labeled_images{20},
                {.batch_size = 50,
                 .metrics = std::vector<glia::metric>{},
                 .progress = &out,
                 .frozen_outputs = frozen_outputs});
    const std::string text = without_times(out.str());
    return text.substr(0, text.rfind("  loss")) + '\n';  // without the losses
  };
  // 50 and 20 times 2 x 3 x 5 floats: the pooling behind the frozen layers is computed with them.
  CHECK(lines({}) ==
        "frozen layers, training ... images/s  kept in memory, 6.00 kB\n"
        "frozen layers, validation ... images/s  kept in memory, 2.40 kB\n"
        "epoch 1/1 ... images/s\n");
  CHECK(lines({.storage = {.memory_limit = 3000}}) ==
        "frozen layers, training ... images/s  kept in a file, 6.00 kB\n"
        "frozen layers, validation ... images/s  kept in memory, 2.40 kB\n"
        "epoch 1/1 ... images/s\n");
  CHECK(lines({.cache = false}) == uncached_note + "\nepoch 1/1 ... images/s\n");
}

TEST_CASE("on a terminal, the pass through frozen layers has a bar") {
  std::ostringstream out;
  glia::progress bar(out, true, 12, "images");
  bar.start_pass("frozen layers, training", 200);
  bar.update(50);
  CHECK(contains(out.str(), "\r\033[Kfrozen layers, training [##"));
  CHECK(contains(out.str(), ".] 50/200  "));
  CHECK(contains(out.str(), " images/s  ETA 0:0"));
  CHECK_FALSE(contains(out.str(), "loss"));
  CHECK_FALSE(contains(out.str(), "\n"));
  bar.finish_pass("done");
  CHECK(contains(out.str(), "\r\033[Kfrozen layers, training  0."));
  CHECK(contains(out.str(), "images/s  done\n"));
}

TEST_CASE("outputs of frozen layers are a data set") {
  const labeled_images data{13};
  auto net = network();
  std::ostringstream out;
  const auto cached = glia::compute_frozen_outputs(net, data, "some", {.batch_size = 4}, &out);
  REQUIRE(cached);
  CHECK(without_times(out.str()) == "frozen layers, some ... images/s  kept in memory, 1.56 kB\n");
  CHECK(cached->size() == 13);
  CHECK(cached->in_memory());
  CHECK(cached->input_shape() == glia::shape{2, 3, 5});
  CHECK(cached->bytes() == 13 * 30 * sizeof(float));
  CHECK(cached->label(5) == labeled_images::label(5));
  // Against the frozen layers as a model of their own.
  glia::model alone{sequential{conv2d{.filters = 5, .kernel_size = 3, .activation = glia::relu},
                               batch_norm{}, glia::max_pool2d{.pool_size = {2, 1}}},
                    {6, 5, 2}};
  for (const auto& p : alone.parameters()) {
    alone.set(p.spec.name, net.get(p.spec.name));
  }
  xt::xarray<float> images = xt::zeros<float>({13, 6, 5, 2});
  for (std::size_t i = 0; i < 13; ++i) {
    labeled_images::fill(i, std::span(images.data() + 60 * i, 60));
  }
  const auto expected = alone.predict(images);
  for (std::size_t i = 0; i < 13; ++i) {
    std::vector<float> row(30);
    cached->input(i, row);
    CHECK(test::distance(row, std::span(expected.data() + 30 * i, 30)) < 1e-6);
  }
  const valued_images valued_samples{{4}};
  const auto valued = glia::compute_frozen_outputs(net, valued_samples, "some", {}, nullptr);
  CHECK(valued->target_shape() == glia::shape{3});
  std::vector<float> target(3);
  std::vector<float> same(3);
  valued->target(2, target);
  valued_images::target(2, same);
  CHECK(target == same);
}

TEST_CASE("a model is fitted, evaluated and asked on outputs that were kept before") {
  const labeled_images data;
  const labeled_images validation{20};
  auto net = network();
  auto other = network();
  const auto cached = glia::compute_frozen_outputs(net, data, "training", {}, nullptr);
  const auto cached_validation =
      glia::compute_frozen_outputs(net, validation, "validation", {}, nullptr);
  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{0.01}};
  glia::trainer second{other, loss, glia::adam{0.01}};
  const glia::fit_options quiet{.epochs = 3, .batch_size = 8, .progress = nullptr};
  const auto history = trainer.fit(*cached, *cached_validation, quiet);
  // Options that would not keep them do not matter to what is kept already.
  trainer.fit(*cached, {.batch_size = 8, .progress = nullptr, .frozen_outputs = {.cache = false}});
  CHECK(data.requests->first(50) == std::vector<std::size_t>(50, 1));
  CHECK(validation.requests->first(20) == std::vector<std::size_t>(20, 1));
  const auto expected = second.fit(labeled_images{}, labeled_images{20}, quiet);
  second.fit(labeled_images{}, {.batch_size = 8, .progress = nullptr});
  CHECK(distance(history, expected) == 0);
  for (const auto& p : net.parameters()) {
    CHECK((net.get(p.spec.name) == other.get(p.spec.name)));
  }
  const auto scores = glia::evaluate(net, *cached_validation, loss);
  const auto same = glia::evaluate(other, validation, loss);
  CHECK(std::abs(scores.loss - same.loss) < 1e-5);
  CHECK(scores.metric_values == same.metric_values);
  const auto outputs = glia::predict(net, *cached_validation);
  CHECK(outputs.dimension() == 2);
  CHECK(test::distance(outputs, glia::predict(other, validation, {.batch_size = 3})) < 1e-5);
}

TEST_CASE("outputs are not kept of data that do not fit, and not after Ctrl-C") {
  auto net = network();
  const labeled_images nothing{0};
  const test::quadrants points;
  CHECK(message_of<glia::data_error>([&] {
          (void)glia::compute_frozen_outputs(net, nothing, "no", {}, nullptr);
        }) == "compute_frozen_outputs: the data set is empty");
  CHECK(contains(message_of<glia::shape_error>(
                     [&] { (void)glia::compute_frozen_outputs(net, points, "no", {}, nullptr); }),
                 "the model takes samples of shape (6, 5, 2), but the data set has samples of "
                 "shape (2,)"));
  const labeled_images data;
  data.requests->interrupt_at = 3;
  CHECK_FALSE(glia::compute_frozen_outputs(net, data, "some", {.batch_size = 5}, nullptr));
  CHECK(data.requests->asked[30] == 0);
}
