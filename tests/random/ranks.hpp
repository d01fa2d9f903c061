#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <glia/distributed.hpp>
#include <glia/glia.hpp>
#include <glia/testing/values.hpp>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "distributed/thread_ranks.hpp"
#include "helpers.hpp"

namespace test {

/// A scale and biases of one's own, whose gradients for one sample are one and the same memory.
struct own_biases {
  static constexpr std::string_view type_name = "own_biases";

  glia::variable operator()(glia::scope& s, glia::variable x) const {
    const std::size_t width = x.shape().back();
    x = x * s.parameter("factor", {width}, glia::constant(1));
    x = x + s.parameter("first", {width}, glia::constant(0.1));
    return x + s.parameter("table", glia::sample_of(x.shape()), glia::constant(0.2));
  }
  [[nodiscard]] static std::string description() { return "own_biases"; }
  friend bool operator==(const own_biases&, const own_biases&) = default;
};

/// A training on ranks, all of which a seed determines.
template <class T>
class random_ranks {
 public:
  using B = glia::cpu<T>;
  using any_layer = glia::any_layer;

  explicit random_ranks(std::uint64_t seed) : random_(seed), seed_(seed) {
    choose_network();
    choose_training();
  }

  /// What differs from what ranks promise; empty where nothing does.
  [[nodiscard]] std::string difference() const {
    const result shared = train_on_ranks(count_, memory_, options_, wait_);
    // Neither how sums travel nor when changes a bit.
    glia::distributed_options plain = options_;
    plain.bucket_bytes = std::size_t{1} << 28;
    plain.overlap = false;
    const result blocking = train_on_ranks(count_, !options_.bfloat16_gradients, plain, {});
    if (options_.bfloat16_gradients ? far(shared, blocking, 0.05) : shared != blocking) {
      return "not as without overlap: " + apart(shared, blocking);
    }
    if (options_.reproducible) {
      const result single = train_on_ranks(1, false, options_, {});
      return shared != single ? "not as one rank: " + apart(shared, single) : "";
    }
    if (normalized_ && !synchronized_ && count_ > 1) {
      return "";  // each rank normalizes by its own samples
    }
    const result alone = train({});
    if (movement(alone) > 20) {
      return "";  // a training that went out of hand magnifies every rounding
    }
    const double bound = options_.bfloat16_gradients  ? 0.05
                         : sizeof(T) == sizeof(float) ? 2e-3
                                                      : 1e-7;
    return far(shared, alone, bound) ? "not as one process: " + apart(shared, alone) : "";
  }

  [[nodiscard]] std::string description() const {
    return glia::text(
        "seed ", seed_, ", ", sizeof(T) == sizeof(float) ? "float" : "double", ", ", count_,
        " ranks", memory_ ? " in memory" : "", ", ", threads_, " threads, ", samples_,
        " samples in batches of ", batch_, ", ", epochs_, " epochs",
        options_.reproducible ? glia::text(", reproducible in ", options_.pieces) : "",
        synchronized_ ? ", synchronized" : "", options_.bfloat16_gradients ? ", bfloat16" : "",
        ", buckets of ", options_.bucket_bytes, options_.overlap ? "" : ", no overlap", ", ", rule_,
        "\n", glia::layer_stack{layers_}.description(), " on ", sample_, " to ",
        classes_ ? "classes" : "values");
  }

 private:
  struct result {
    std::vector<T> parameters;
    std::vector<T> moved;  // by the training
    std::vector<double> losses;

    /// Trainings that went out of hand may agree on numbers that are none.
    friend bool operator==(const result& a, const result& b) {
      return distance(a.parameters, b.parameters) == 0 && distance(a.losses, b.losses) == 0;
    }
  };

  [[nodiscard]] std::size_t integer(std::size_t count) {
    return static_cast<std::size_t>(random_() % count);
  }
  [[nodiscard]] std::size_t draw(std::size_t first, std::size_t last) {
    return first + integer(last - first + 1);
  }
  [[nodiscard]] bool chance(std::size_t percent) { return integer(100) < percent; }

  [[nodiscard]] glia::activation any_activation() {
    const glia::activation activations[]{glia::linear, glia::tanh, glia::gelu, glia::sigmoid,
                                         glia::silu};
    return activations[integer(5)];
  }

  void add(any_layer layer) { layers_.push_back(std::move(layer)); }
  template <class Layer>
  void add_maybe_frozen(const Layer& layer) {
    if (freezing_) {
      add(glia::frozen{layer});
    } else {
      add(layer);
    }
  }
  void add_batch_norm() {
    normalized_ = normalized_ || !freezing_;
    if (synchronized_) {
      add_maybe_frozen(glia::sync_batch_norm{.momentum = 0.9, .epsilon = 0.1});
    } else {
      add_maybe_frozen(glia::batch_norm{.momentum = 0.9, .epsilon = 0.1});
    }
  }

  void choose_network() {
    frozen_ = chance(20) ? draw(1, 3) : 0;
    synchronized_ = chance(60);
    glia::shape output;
    const std::size_t kind = integer(10);
    if (kind < 4) {
      output = {draw(1, 70)};
    } else if (kind < 6) {
      output = {draw(2, 8), draw(2, 8), draw(1, 4)};
    } else if (kind < 9) {
      output = {draw(1, 6), draw(1, 9)};
    } else {
      const std::size_t steps = draw(1, 5);
      const std::size_t width = draw(1, 9);
      sample_ = {steps};
      integers_ = 7;
      freezing_ = frozen_ > 0;
      add_maybe_frozen(
          glia::embedding{.input_dim = 7, .output_dim = width, .mask_zero = chance(50)});
      output = {steps, width};
    }
    if (integers_ == 0) {
      sample_ = output;
    }
    const std::size_t depth = draw(1, 5);
    for (std::size_t i = 0; i < depth; ++i) {
      freezing_ = i < frozen_;
      output = output.rank() == 1   ? add_to_vector(output)
               : output.rank() == 2 ? add_to_steps(output)
                                    : add_to_image(output);
    }
    freezing_ = false;
    classes_ = chance(60);
    outputs_ = draw(classes_ ? 2 : 1, 6);
    if (output.rank() == 2 && !classes_ && chance(40)) {
      add(glia::time_distributed{glia::dense{outputs_}});
      target_ = {output[0], outputs_};
      return;
    }
    if (output.rank() > 1) {
      add(glia::flatten{});
    }
    add(glia::dense{outputs_});
    target_ = {outputs_};
  }

  [[nodiscard]] glia::shape add_to_vector(const glia::shape& input) {
    const std::size_t width = input[0];
    const std::size_t units = chance(20) ? draw(100, 400) : draw(1, 60);
    switch (integer(11)) {
      case 0:
        add_batch_norm();
        return input;
      case 1:
        add_maybe_frozen(glia::layer_norm{.epsilon = 0.1});
        return input;
      case 2:
        add(glia::dropout{0.3});
        return input;
      case 3:
        add(own_biases{});
        return input;
      case 4:
        add(glia::residual{glia::sequential{glia::dense{width, any_activation()}, own_biases{}}});
        return input;
      case 5: {
        const glia::shared body{glia::text("twice_", layers_.size()),
                                glia::dense{width, glia::tanh}};
        add(body);
        add(body);
        return input;
      }
      case 6:
        add(glia::reshape{{width, 1}});
        return {width, 1};
      default:
        add_maybe_frozen(glia::dense{units, any_activation()});
        return {units};
    }
  }

  [[nodiscard]] glia::shape add_to_steps(const glia::shape& input) {
    const std::size_t steps = input[0];
    const std::size_t units = draw(1, 12);
    switch (integer(11)) {
      case 0:
        add_batch_norm();
        return input;
      case 1:
        add_maybe_frozen(glia::layer_norm{.epsilon = 0.1});
        return input;
      case 2:
        add(own_biases{});
        return input;
      case 3:
        add(glia::gru{.units = units, .return_sequences = true, .dropout = chance(30) ? 0.2 : 0.0});
        return {steps, units};
      case 4:
        add(glia::lstm{.units = units});
        return {units};
      case 5:
        add_maybe_frozen(
            glia::simple_rnn{.units = units, .return_sequences = true, .go_backwards = chance(50)});
        return {steps, units};
      case 6:
        add_maybe_frozen(glia::conv1d{.filters = units,
                                      .kernel_size = draw(1, 3),
                                      .padding = glia::same,
                                      .activation = any_activation()});
        return {steps, units};
      case 7:
        add(glia::positional_encoding{});
        add(glia::multi_head_attention{.num_heads = draw(1, 2), .key_dim = draw(1, 4)});
        return input;
      case 8:
        add(glia::global_avg_pool1d{});
        return {input[1]};
      default:
        add_maybe_frozen(glia::time_distributed{glia::dense{units, any_activation()}});
        return {steps, units};
    }
  }

  [[nodiscard]] glia::shape add_to_image(const glia::shape& input) {
    const std::size_t channels = input[2];
    const std::size_t filters = draw(1, 10);
    switch (integer(11)) {
      case 0:
        add_batch_norm();
        return input;
      case 1:
        add_maybe_frozen(glia::group_norm{.groups = channels, .epsilon = 0.1});
        return input;
      case 2:
        add(glia::spatial_dropout{0.3});
        return input;
      case 3:
        add(own_biases{});
        return input;
      case 4:
        if (input[0] < 2 || input[1] < 2) {
          return input;
        }
        add(glia::avg_pool2d{});
        return {input[0] / 2, input[1] / 2, channels};
      case 5:
        add(glia::depthwise_conv2d{.kernel_size = 3, .padding = glia::same});
        return input;
      case 6:
        add(glia::residual{glia::sequential{
            glia::conv2d{.filters = channels, .kernel_size = 3, .padding = glia::same},
            glia::layer_norm{.epsilon = 0.1}, glia::gelu}});
        return input;
      case 7:
        add(glia::global_avg_pool2d{});
        return {channels};
      default:
        add_maybe_frozen(glia::conv2d{.filters = filters,
                                      .kernel_size = draw(1, 3),
                                      .padding = glia::same,
                                      .activation = any_activation()});
        return {input[0], input[1], filters};
    }
  }

  void choose_training() {
    count_ = draw(1, 5);
    memory_ = chance(35);
    threads_ = draw(1, 2);
    // A sample for each rank, fewer, and few more.
    batch_ = chance(40) ? count_ : chance(20) ? draw(1, count_) : draw(count_, 4 * count_ + 3);
    samples_ = chance(30) ? 2 * batch_ : batch_ + draw(1, 2 * batch_);
    epochs_ = draw(1, 2);
    synchronized_ = synchronized_ && normalized_;
    options_.reproducible = !synchronized_ && chance(20);
    options_.pieces = draw(count_, 9);
    options_.bfloat16_gradients = !options_.reproducible && chance(10);
    options_.bucket_bytes = std::size_t{64} << draw(0, 14);
    options_.overlap = chance(85);
    options_.share_memory = memory_ || chance(50);
    if (synchronized_) {  // no rank may be without samples
      batch_ = std::max(batch_, count_);
      samples_ = batch_ * draw(1, 2) + (chance(50) ? draw(count_, batch_) : 0);
    }
    validates_ = chance(30);
    keeps_frozen_ = chance(60);
    wait_ = std::chrono::microseconds(chance(60) ? 1000 : 0);
    if (chance(25)) {
      gradients_.push_back(chance(50) ? glia::clip_by_global_norm(0.05)
                                      : glia::clip_by_value(0.02));
    }
    const char* const rules[]{"sgd", "momentum", "adam", "accumulated"};
    rule_ = rules[integer(4)];
  }

  [[nodiscard]] std::vector<float> inputs(std::size_t count, std::uint32_t stream) const {
    std::vector<float> values = glia::testing::test_values(glia::batch_of(count, sample_), stream);
    for (float& value : values) {
      value = integers_ > 0 ? std::floor((value + 1) / 2 * static_cast<float>(integers_)) : value;
    }
    return values;
  }

  /// Trains with a data set, made of values or of classes.
  template <class Trainer>
  [[nodiscard]] glia::history fit(Trainer& trainer) const {
    const glia::fit_options options{
        .epochs = epochs_,
        .batch_size = batch_,
        .metrics = classes_ ? std::vector{glia::accuracy()} : std::vector<glia::metric>{},
        .progress = nullptr,
        .frozen_outputs = {.cache = keeps_frozen_},
        .stop_at_interrupt = false};
    const auto run = [&](auto data_of) {
      const auto train = data_of(samples_, 10);
      const auto test = data_of(2 * count_ + 1, 20);
      return validates_ ? trainer.fit(train, test, options) : trainer.fit(train, options);
    };
    const auto array = [](const glia::shape& s, std::vector<float> values) {
      const std::vector<std::size_t> extents(s.begin(), s.end());
      return xt::xarray<float>(xt::adapt(values, extents));
    };
    const auto x = [&](std::size_t count, std::uint32_t stream) {
      return array(glia::batch_of(count, sample_), inputs(count, stream));
    };
    if (!classes_) {
      return run([&](std::size_t count, std::uint32_t stream) {
        const glia::shape shape = glia::batch_of(count, target_);
        return glia::target_arrays{x(count, stream),
                                   array(shape, glia::testing::test_values(shape, stream + 1))};
      });
    }
    return run([&](std::size_t count, std::uint32_t stream) {
      std::vector<std::int32_t> labels;
      for (const float value : glia::testing::test_values({count}, stream + 1)) {
        labels.push_back(static_cast<std::int32_t>((value + 1) / 2 * static_cast<float>(outputs_)));
      }
      return glia::labeled_arrays{x(count, stream), xt::xarray<std::int32_t>(xt::adapt(labels))};
    });
  }

  [[nodiscard]] result train(glia::distribution distribution) const {
    glia::model net{glia::layer_stack{layers_}, sample_, B({.threads = threads_}), {.seed = 5}};
    const std::vector<T> initial = parameters_of<T>(net);
    glia::history history;
    const auto train_with = [&](const auto& loss, const auto& rule) {
      glia::trainer trainer{net,
                            loss,
                            rule,
                            {.seed = seed_,
                             .gradient_transforms = gradients_,
                             .distribution = std::move(distribution)}};
      history = fit(trainer);
    };
    const auto by_rule = [&](const auto& loss) {
      if (rule_ == "adam") {
        train_with(loss, glia::adam{.learning_rate = 0.01, .epsilon = 0.01});
      } else if (rule_ == "accumulated") {
        train_with(loss, glia::gradient_accumulation{glia::sgd{.learning_rate = 0.1}, 2});
      } else {
        const bool momentum = rule_ == "momentum";
        train_with(loss, glia::sgd{.learning_rate = momentum ? 0.02 : 0.1,
                                   .momentum = momentum ? 0.9 : 0.0});
      }
    };
    if (classes_) {
      by_rule(glia::softmax_cross_entropy{});
    } else {
      by_rule(glia::mean_squared_error{});
    }
    result outcome{parameters_of<T>(net), {}, history.training("loss")};
    if (validates_) {
      const std::vector<double> validation_losses = history.validation("loss");
      outcome.losses.insert(outcome.losses.end(), validation_losses.begin(),
                            validation_losses.end());
    }
    outcome.moved = outcome.parameters;
    for (std::size_t i = 0; i < initial.size(); ++i) {
      outcome.moved[i] -= initial[i];
    }
    return outcome;
  }

  [[nodiscard]] result train_on_ranks(std::size_t count, bool memory,
                                      const glia::distributed_options& options,
                                      std::chrono::microseconds wait) const {
    std::vector<result> results(count);
    thread_ranks group(count, memory, wait);
    group.run([&](glia::rank_group& member) {
      const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
      results[member.rank()] = train({ranks, options});
    });
    for (const result& outcome : results) {
      glia::require<glia::error>(outcome == results[0],
                                 "ranks are not alike: ", apart(outcome, results[0]));
    }
    return results[0];
  }

  /// By how much parameters may differ is told by how far the training has moved them.
  [[nodiscard]] static double movement(const result& outcome) {
    double largest = 1e-3;
    for (const T value : outcome.moved) {
      const double size = std::abs(static_cast<double>(value));
      largest = std::max(largest, std::isnan(size) ? INFINITY : size);
    }
    return largest;
  }
  [[nodiscard]] static bool far(const result& a, const result& b, double bound) {
    const double parameters = distance(a.parameters, b.parameters) / movement(b);
    double scale = 1;
    for (const double loss : b.losses) {
      scale = std::max(scale, std::abs(loss));
    }
    const double losses = distance(a.losses, b.losses) / scale;
    return !(parameters <= bound && losses <= bound);
  }
  [[nodiscard]] static std::string apart(const result& a, const result& b) {
    return glia::text("parameters by ", distance(a.parameters, b.parameters), " of ", movement(b),
                      ", losses by ", distance(a.losses, b.losses));
  }

  std::mt19937_64 random_;
  std::uint64_t seed_;
  std::vector<any_layer> layers_;
  std::size_t frozen_ = 0;  // of the first layers
  bool freezing_ = false;
  bool normalized_ = false;
  bool synchronized_ = false;  // whether batches are normalized over all ranks
  glia::shape sample_;
  std::size_t integers_ = 0;  // inputs are integers below, if not 0
  bool classes_ = false;
  std::size_t outputs_ = 1;
  glia::shape target_;

  std::size_t count_ = 1;  // ranks
  bool memory_ = false;
  std::size_t threads_ = 1;
  std::size_t batch_ = 1;
  std::size_t samples_ = 1;
  std::size_t epochs_ = 1;
  bool validates_ = false;
  bool keeps_frozen_ = true;
  glia::distributed_options options_;
  std::chrono::microseconds wait_{0};
  std::vector<glia::gradient_transform> gradients_;
  std::string rule_;
};

/// What differs in the training of a seed, with its description; empty where nothing does. Even
/// seeds compute in double, whose rounding hides less.
inline std::string difference_of_ranks(std::uint64_t seed) {
  const auto look = [](const auto& training) {
    std::string found;
    try {
      found = training.difference();
    } catch (const std::exception& e) {
      found = e.what();
    }
    return found.empty() ? found : found + "\n" + training.description();
  };
  return seed % 2 == 0 ? look(random_ranks<double>(seed)) : look(random_ranks<float>(seed));
}

}  // namespace test
