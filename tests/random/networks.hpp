#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Random networks: every layer and every holder of layers, with odd sizes, drawn from a seed.
namespace test::random {

/// A layer without a template parameter of its own, to see that what users write is run alike:
/// scale * x + mean of x over the last axis * shift.
struct own_layer {
  static constexpr std::string_view type_name = "own";

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    const std::size_t features = x.shape().back();
    const auto scale = s.parameter("scale", {features}, glia::random_uniform(1));
    const auto shift = s.parameter("shift", {}, glia::constant(0.5));
    glia::shape row = x.shape();
    row[row.rank() - 1] = 1;
    const auto mean = glia::ops::sum_to(x, row) * (1.0 / static_cast<double>(features));
    return std::move(x) * scale + mean * shift;
  }
  [[nodiscard]] static std::string description() { return "own"; }
  friend bool operator==(const own_layer&, const own_layer&) = default;
};

/// Each channel of an image times a number from 0 to 1 that depends on all of it: squeeze and
/// excitation.
struct own_gate {
  static constexpr std::string_view type_name = "gate";

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    const glia::shape input = x.shape();
    s.expect(input.rank() == 4, "expected images");
    const auto weights = s.parameter("weights", {input[3], input[3]}, glia::glorot_uniform());
    const glia::shape pooled{input[0], 1, 1, input[3]};
    const auto mean =
        glia::ops::sum_to(x, pooled) * (1.0 / static_cast<double>(input[1] * input[2]));
    const auto gate = glia::ops::sigmoid(
        glia::ops::matmul(glia::ops::reshape(mean, {input[0], input[3]}), weights));
    return std::move(x) * glia::ops::reshape(gate, pooled);
  }
  [[nodiscard]] static std::string description() { return "gate"; }
  friend bool operator==(const own_gate&, const own_gate&) = default;
};

/// A network as a value, whose layers are known only when the program runs: one layer, several in
/// a row, or a holder of other networks.
class network {
 public:
  using contains_layers = void;
  static constexpr bool preserves_output_kind = true;

  template <class Holder>
  using boxed = std::shared_ptr<const Holder>;
  using row = std::vector<network>;

  template <class Layer>
  explicit network(Layer layer) : layer_(std::move(layer)) {}

  /// A holder of networks, kept where copies share it.
  template <class Holder>
  [[nodiscard]] static network holding(Holder holder) {
    return network(boxed<Holder>(std::make_shared<const Holder>(std::move(holder))));
  }

  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    return std::visit(
        [&](const auto& held) -> glia::variable {
          if constexpr (is_row<decltype(held)>) {
            for (std::size_t i = 0; i < held.size(); ++i) {
              x = s.run(held[i], std::move(x), "network", i);
            }
            return std::move(x);
          } else if constexpr (requires { *held; }) {
            return s.run(*held, std::move(x), "network", 0);
          } else {
            return s.run(held, std::move(x), "network", 0);
          }
        },
        layer_);
  }

  [[nodiscard]] std::string description() const {
    return std::visit(
        [](const auto& held) -> std::string {
          if constexpr (is_row<decltype(held)>) {
            std::string result;
            for (const network& layer : held) {
              result += (result.empty() ? "" : ", ") + layer.description();
            }
            return "sequential(" + result + ")";
          } else if constexpr (requires { *held; }) {
            return held->description();
          } else {
            return held.description();
          }
        },
        layer_);
  }
  friend bool operator==(const network& a, const network& b) {
    return a.description() == b.description();
  }

 private:
  template <class Held>
  static constexpr bool is_row = std::is_same_v<std::remove_cvref_t<Held>, row>;

  template <class Layer, class Join>
  using both_ways = decltype(glia::bidirectional(Layer{}, Join{}));

  std::variant<row, glia::dense, glia::conv1d, glia::conv2d, glia::conv2d_transpose,
               glia::depthwise_conv2d, glia::separable_conv2d, glia::max_pool2d, glia::avg_pool2d,
               glia::global_max_pool2d, glia::global_avg_pool2d, glia::max_pool1d, glia::avg_pool1d,
               glia::global_max_pool1d, glia::global_avg_pool1d, glia::gru, glia::lstm,
               glia::simple_rnn, glia::multi_head_attention, glia::positional_encoding,
               glia::masking, glia::batch_norm, glia::layer_norm, glia::group_norm, glia::rms_norm,
               glia::dropout, glia::spatial_dropout, glia::gaussian_noise, glia::reshape,
               glia::flatten, glia::upsample2d, glia::zero_pad2d, glia::crop2d, glia::activation,
               glia::identity, own_layer, own_gate, boxed<glia::residual<network>>,
               boxed<glia::residual<network, network>>,
               boxed<glia::parallel<glia::join::concat, network, network>>,
               boxed<glia::parallel<glia::join::add, network, network, network>>,
               boxed<glia::parallel<glia::join::multiply, network, network>>,
               boxed<glia::frozen<network>>, boxed<glia::named<network>>,
               both_ways<glia::gru, glia::join::concat>, both_ways<glia::lstm, glia::join::add>,
               boxed<glia::shared<network>>, boxed<glia::time_distributed<network>>,
               glia::embedding, boxed<glia::inputs<glia::join::concat, network, network>>,
               boxed<glia::outputs<network, network>>>
      layer_;
};

/// A network and what it is given.
struct drawn {
  network net;
  glia::shape sample;
  std::size_t integers = 0;  ///< samples are whole numbers below it, if it is not 0
};

/// What networks are drawn of.
struct draw_options {
  std::size_t largest_extent = 9;  ///< rows, columns and steps
  std::size_t most_channels = 20;
  std::size_t most_layers = 7;
};

/// Draws networks. The same seed gives the same network.
class network_source {
 public:
  explicit network_source(std::uint64_t seed, const draw_options& options = {})
      : random_({.seed = seed, .stream = 77}), options_(options) {}

  [[nodiscard]] drawn draw() {
    network::row layers;
    std::size_t integers = 0;
    shape sample = first_shape();
    shape output = sample;
    if (one_in(8)) {
      integers = between(2, 9);
      sample = {extent()};
      output = {sample[0], between(1, 6)};
      layers.emplace_back(
          glia::embedding{.input_dim = integers, .output_dim = output[1], .mask_zero = one_in(2)});
    } else if (one_in(8)) {
      shape left = first_shape();
      shape right = first_shape();
      sample = {left.size() + right.size()};
      const shape inputs[] = {left, right};
      network::row of_left = some_layers(left, integer(3), 1);
      network::row of_right = some_layers(right, integer(3), 1);
      of_left.emplace_back(glia::flatten{});
      of_right.emplace_back(glia::flatten{});
      output = {left.size() + right.size()};
      layers.push_back(network::holding(glia::inputs<glia::join::concat, network, network>(
          glia::input<network>{"left", inputs[0], network(std::move(of_left))},
          glia::input<network>{"right", inputs[1], network(std::move(of_right))})));
    } else if (one_in(2)) {  // so that gradients go all the way back
      layers.emplace_back(own_layer{});
    }
    for (network& layer : some_layers(output, 1 + integer(options_.most_layers), 0)) {
      layers.push_back(std::move(layer));
    }
    layers.emplace_back(own_layer{});  // something to train
    if (one_in(8)) {
      shape first_output = output;
      shape second_output = output;
      network first(some_layers(first_output, 1 + integer(2), 1));
      network second(some_layers(second_output, 1 + integer(2), 1));
      layers.push_back(network::holding(
          glia::outputs<network, network>(glia::output<network>{"one", std::move(first)},
                                          glia::output<network>{"other", std::move(second)})));
    }
    return {network(std::move(layers)), sample, integers};
  }
  [[nodiscard]] std::size_t integer(std::size_t bound) { return random_.integer(bound); }
  [[nodiscard]] float number() { return static_cast<float>(2 * random_.uniform() - 1); }

 private:
  using shape = glia::shape;

  static constexpr int deepest = 3;

  [[nodiscard]] bool one_in(std::size_t n) { return integer(n) == 0; }
  [[nodiscard]] std::size_t between(std::size_t low, std::size_t high) {
    return low + integer(high - low + 1);
  }
  [[nodiscard]] std::size_t channels() { return between(1, options_.most_channels); }
  [[nodiscard]] std::size_t extent() { return between(1, options_.largest_extent); }

  [[nodiscard]] shape first_shape() {
    switch (integer(6)) {
      case 0:
        return {channels()};
      case 1:
      case 2:
        return {extent(), channels()};
      default:
        return {extent(), extent(), channels()};
    }
  }

  /// Half of them those that convolutions take into their loops.
  [[nodiscard]] glia::activation activation() {
    static constexpr glia::activation activations[] = {
        glia::linear,  glia::relu, glia::relu6,  glia::linear, glia::relu,
        glia::relu6,   glia::tanh, glia::gelu,   glia::silu,   glia::leaky_relu,
        glia::sigmoid, glia::elu,  glia::softmax};
    return activations[integer(std::size(activations))];
  }
  /// One that a recurrent layer takes for its state.
  [[nodiscard]] glia::activation of_state() { return one_in(4) ? glia::relu : glia::tanh; }

  [[nodiscard]] glia::padding2d padding() {
    switch (integer(4)) {
      case 0:
        return glia::same;
      case 1:
        return glia::padding2d(integer(3), integer(3), integer(3), integer(3));
      default:
        return glia::valid;
    }
  }
  [[nodiscard]] glia::padding1d padding1d() {
    return one_in(3) ? glia::padding1d(glia::causal) : glia::padding1d(padding());
  }
  [[nodiscard]] glia::extent2d window() {
    return one_in(3) ? glia::extent2d(between(1, 3), between(1, 3)) : glia::extent2d(between(1, 3));
  }
  [[nodiscard]] glia::extent2d stride() {
    return one_in(4) ? glia::extent2d(between(1, 3), between(1, 3)) : glia::extent2d(between(1, 2));
  }
  [[nodiscard]] glia::extent2d dilation() { return one_in(5) ? window() : glia::extent2d(1); }
  [[nodiscard]] glia::border2d border() { return {integer(3), integer(3), integer(3), integer(3)}; }

  [[nodiscard]] network::row some_layers(shape& sample, std::size_t count, int depth) {
    network::row result;
    for (std::size_t tries = 0; result.size() < count && tries < 4 * count; ++tries) {
      const network layer = some_layer(sample, depth);
      if (const auto next = shape_behind(layer, sample)) {
        result.push_back(layer);
        sample = *next;
      }
    }
    return result;
  }

  /// What the network makes of a sample, if it takes it and that is not too much work: attention
  /// over thousands of steps takes gigabytes.
  [[nodiscard]] static std::optional<shape> shape_behind(const network& net, const shape& sample) {
    constexpr std::size_t max_size = 6000;
    constexpr double max_flops = 3e7;
    constexpr std::size_t max_bytes = 4'000'000;
    try {
      const glia::model_plan plan = glia::plan_model(net, sample);
      double flops = 0;
      std::size_t bytes = 0;
      for (const auto& layer : plan.layers) {
        flops += layer.flops;
        bytes += layer.activation_bytes;
      }
      const shape result = glia::sample_of(plan.output);
      const bool fits = result.size() > 0 && result.size() <= max_size && flops <= max_flops &&
                        bytes <= max_bytes;
      return fits ? std::optional(result) : std::nullopt;
    } catch (const glia::error&) {
      return std::nullopt;
    }
  }

  /// Layers that give what they were given, in shape.
  [[nodiscard]] network keeping_shape(const shape& sample, int depth) {
    for (std::size_t tries = 0; tries < 6; ++tries) {
      shape next = sample;
      network net(some_layers(next, between(1, 3), depth));
      if (next == sample) {
        return net;
      }
    }
    return network(own_layer{});
  }

  [[nodiscard]] network some_layer(const shape& sample, int depth) {
    if (depth < deepest && one_in(4)) {
      return some_holder(sample, depth + 1);
    }
    if (one_in(5)) {
      return of_any_shape(sample);
    }
    switch (sample.rank()) {
      case 1:
        return of_features(sample);
      case 2:
        return of_sequences();
      default:
        return of_images(sample);
    }
  }

  [[nodiscard]] network some_holder(const shape& sample, int depth) {
    shape next = sample;
    switch (integer(9)) {
      case 0:
        return network::holding(
            glia::residual<network>{keeping_shape(sample, depth), {}, activation()});
      case 1: {
        network body(some_layers(next, between(1, 2), depth));
        // A shortcut that ends in the body's shape.
        network shortcut(network::row{network(glia::flatten{}), network(glia::dense{next.size()}),
                                      network(glia::reshape{next})});
        return network::holding(
            glia::residual<network, network>{std::move(body), std::move(shortcut), activation()});
      }
      case 2:
        return network::holding(glia::parallel<glia::join::concat, network, network>(
            keeping_shape(sample, depth), keeping_shape(sample, depth)));
      case 3:
        return network::holding(glia::parallel<glia::join::add, network, network, network>(
            keeping_shape(sample, depth), network(glia::identity{}), keeping_shape(sample, depth)));
      case 4:
        return network::holding(glia::parallel<glia::join::multiply, network, network>(
            keeping_shape(sample, depth), keeping_shape(sample, depth)));
      case 5:
        return network::holding(
            glia::frozen<network>{network(some_layers(next, between(1, 3), depth))});
      case 6:
        return network::holding(glia::named<network>{
            glia::text("name", ++names_), network(some_layers(next, between(1, 3), depth))});
      case 7: {
        const network shared_net = network::holding(
            glia::shared<network>{glia::text("shared", ++names_), keeping_shape(sample, depth)});
        return network(network::row{shared_net, network(glia::tanh), shared_net});
      }
      default:
        if (sample.rank() < 2) {
          return network(own_layer{});
        }
        next = glia::sample_of(sample);
        return network::holding(
            glia::time_distributed<network>{network(some_layers(next, between(1, 2), depth))});
    }
  }

  [[nodiscard]] network of_any_shape(const shape& sample) {
    switch (integer(11)) {
      case 0:
        return network(glia::batch_norm{.scale = !one_in(4)});
      case 1:
        return network(glia::layer_norm{});
      case 2:
        return network(glia::rms_norm{});
      case 3:
        return network(glia::dropout{0.3});
      case 4:
        return network(glia::gaussian_noise{0.2});
      case 5:
        return network(glia::flatten{});
      case 6:
        return network(own_layer{});
      case 7:
        return network(
            glia::reshape{one_in(2) ? shape{sample.size(), 1} : shape{1, sample.size()}});
      case 8:
        return network(glia::group_norm{.groups = between(1, 3)});
      case 9:
        return network(glia::reshape{{1, sample.size() % 2 == 0 ? std::size_t{2} : std::size_t{1},
                                      sample.size() % 2 == 0 ? sample.size() / 2 : sample.size()}});
      default:
        return network(activation());
    }
  }

  [[nodiscard]] network of_features(const shape& sample) {
    if (one_in(4) && sample[0] % 3 == 0) {
      return network(glia::reshape{{3, sample[0] / 3}});
    }
    return network(
        glia::dense{.units = channels(), .activation = activation(), .use_bias = !one_in(4)});
  }

  [[nodiscard]] network of_sequences() {
    switch (integer(14)) {
      case 0:
        return network(glia::conv1d{.filters = channels(),
                                    .kernel_size = between(1, 4),
                                    .strides = between(1, 2),
                                    .padding = padding1d(),
                                    .dilation_rate = between(1, 2),
                                    .activation = activation(),
                                    .use_bias = !one_in(4)});
      case 1:
        return network(glia::max_pool1d{between(1, 3), between(1, 2), glia::padding1d(padding())});
      case 2:
        return network(glia::avg_pool1d{between(1, 3), between(1, 2), glia::padding1d(padding())});
      case 3:
        return network(glia::global_max_pool1d{});
      case 4:
        return network(glia::global_avg_pool1d{});
      case 5:
        return network(glia::gru{.units = channels(),
                                 .return_sequences = !one_in(3),
                                 .go_backwards = one_in(3),
                                 .reset_after = !one_in(3),
                                 .activation = of_state(),
                                 .use_bias = !one_in(4),
                                 .dropout = one_in(4) ? 0.2 : 0,
                                 .recurrent_dropout = one_in(4) ? 0.2 : 0,
                                 .zero_output_for_mask = one_in(4)});
      case 6:
        return network(glia::lstm{.units = channels(),
                                  .return_sequences = !one_in(3),
                                  .go_backwards = one_in(3),
                                  .activation = of_state(),
                                  .use_bias = !one_in(4),
                                  .dropout = one_in(4) ? 0.2 : 0,
                                  .recurrent_dropout = one_in(4) ? 0.2 : 0});
      case 7:
        return network(glia::simple_rnn{.units = channels(),
                                        .return_sequences = !one_in(3),
                                        .go_backwards = one_in(3),
                                        .use_bias = !one_in(4),
                                        .dropout = one_in(4) ? 0.2 : 0});
      case 8: {
        glia::multi_head_attention attention{.num_heads = between(1, 3),
                                             .key_dim = between(1, 5),
                                             .value_dim = integer(4),
                                             .use_causal_mask = one_in(3),
                                             .dropout = one_in(4) ? 0.2 : 0,
                                             .use_bias = !one_in(4)};
        attention.use_rotary_embedding = attention.key_dim % 2 == 0 && one_in(2);
        return network(attention);
      }
      case 9:
        return network(glia::positional_encoding{});
      case 10:
        return network(glia::masking{});
      case 11:
        return network(
            glia::bidirectional(glia::gru{.units = channels(), .return_sequences = !one_in(3)}));
      case 12:
        return network(glia::bidirectional(
            glia::lstm{.units = channels(), .return_sequences = !one_in(3)}, glia::join::add{}));
      default:
        return network(glia::spatial_dropout{0.3});
    }
  }

  [[nodiscard]] network of_images(const shape& sample) {
    const std::size_t groups = one_in(3) ? (one_in(2) ? sample[2] : between(1, 3)) : 1;
    if (one_in(5)) {
      return of_chained_convolutions();
    }
    switch (integer(13)) {
      case 0:
      case 1:
      case 2:
        return network(glia::conv2d{.filters = groups * between(1, 1 + 15 / groups),
                                    .kernel_size = window(),
                                    .strides = stride(),
                                    .padding = padding(),
                                    .dilation_rate = dilation(),
                                    .groups = groups,
                                    .activation = activation(),
                                    .use_bias = !one_in(4)});
      case 3:
      case 4:
        return network(glia::depthwise_conv2d{.kernel_size = window(),
                                              .strides = stride(),
                                              .padding = padding(),
                                              .dilation_rate = dilation(),
                                              .depth_multiplier = one_in(4) ? std::size_t{2} : 1,
                                              .activation = activation(),
                                              .use_bias = !one_in(4)});
      case 5:
        return network(glia::separable_conv2d{.filters = channels(),
                                              .kernel_size = window(),
                                              .strides = stride(),
                                              .padding = padding(),
                                              .activation = activation()});
      case 6:
        return network(glia::conv2d_transpose{.filters = channels(),
                                              .kernel_size = window(),
                                              .strides = between(1, 2),
                                              .padding = padding(),
                                              .activation = activation()});
      case 7:
        return network(
            glia::max_pool2d{window(), one_in(2) ? glia::extent2d(0) : stride(), padding()});
      case 8:
        return network(
            glia::avg_pool2d{window(), one_in(2) ? glia::extent2d(0) : stride(), padding()});
      case 9:
        return one_in(2) ? network(glia::global_max_pool2d{}) : network(glia::global_avg_pool2d{});
      case 10:
        return network(glia::upsample2d{{between(1, 2), between(1, 2)}});
      case 11:
        return one_in(2) ? network(glia::zero_pad2d{border()}) : network(glia::crop2d{border()});
      default:
        return network(own_gate{});
    }
  }

  /// A convolution of single pixels, a depthwise one and often a third, as in MobileNet.
  [[nodiscard]] network of_chained_convolutions() {
    network::row chain;
    chain.emplace_back(glia::conv2d{.filters = channels(),
                                    .kernel_size = 1,
                                    .strides = stride(),
                                    .activation = clamping(),
                                    .use_bias = !one_in(4)});
    chain.emplace_back(glia::depthwise_conv2d{.kernel_size = window(),
                                              .strides = stride(),
                                              .padding = padding(),
                                              .dilation_rate = dilation(),
                                              .activation = clamping(),
                                              .use_bias = !one_in(4)});
    if (one_in(2)) {
      chain.emplace_back(glia::conv2d{.filters = channels(),
                                      .kernel_size = one_in(2) ? glia::extent2d(1) : window(),
                                      .strides = stride(),
                                      .padding = padding(),
                                      .activation = activation()});
    }
    return network(std::move(chain));
  }
  [[nodiscard]] glia::activation clamping() {
    static constexpr glia::activation activations[] = {glia::linear, glia::relu, glia::relu6};
    return activations[integer(std::size(activations))];
  }

  glia::random_stream random_;
  draw_options options_;
  std::size_t names_ = 0;
};

}  // namespace test::random
