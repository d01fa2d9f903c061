#include <algorithm>
#include <cmath>
#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <limits>
#include <thread>
#include <vector>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::dense;
using glia::embedding;
using glia::layer_norm;
using glia::multi_head_attention;
using glia::residual;
using glia::sequential;
using glia::stream;
using glia::time_distributed;
using test::message_of;

namespace {

constexpr std::size_t length = 23;

glia::gpt small_gpt() {
  return {.vocabulary_size = 11,
          .sequence_length = 32,
          .num_layers = 2,
          .num_heads = 2,
          .embedding_dim = 12,
          .kernel_initializer = glia::random_normal(0, 0.5)};
}

xt::xarray<float> tokens(std::size_t sequences, std::size_t steps = length) {
  xt::xarray<float> x = xt::zeros<float>({sequences, steps});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>((i * 7 + i * i) % 11);
  }
  return x;
}

xt::xarray<float> steps_of(const xt::xarray<float>& x, std::size_t begin, std::size_t end) {
  return xt::view(x, xt::all(), xt::range(begin, end));
}

/// Runs sequences in blocks of the given lengths, which repeat.
template <class Model>
xt::xarray<float> in_blocks(const Model& net, const xt::xarray<float>& x,
                            const std::vector<std::size_t>& lengths) {
  const stream blocks{net, {.batch_size = x.shape(0)}};
  glia::stream_state state = blocks.start();
  xt::xarray<float> result = net.predict(x);
  const std::size_t steps = x.shape(1);
  result.fill(0);
  for (std::size_t i = 0; state.steps < steps; ++i) {
    const std::size_t begin = state.steps;
    const std::size_t end = std::min(steps, begin + lengths[i % lengths.size()]);
    xt::view(result, xt::all(), xt::range(begin, end)) = blocks(steps_of(x, begin, end), state);
    CHECK(state.steps == end);
  }
  return result;
}

}  // namespace

TEST_CASE("blocks of any length give the bits of the whole sequence") {
  const auto check = [](const auto& description, const glia::shape& sample,
                        const xt::xarray<float>& x) {
    const glia::model net{description, sample};
    const xt::xarray<float> whole = net.predict(x);
    const std::vector<std::vector<std::size_t>> plans{{1}, {7}, {length}, {3, 1, 8, 2}};
    for (const auto& lengths : plans) {
      CHECK((in_blocks(net, x, lengths) == whole));
    }
  };
  check(small_gpt(), {length}, tokens(1));
  check(small_gpt(), {length}, tokens(3));
  auto rotary = small_gpt();
  rotary.use_rotary_embedding = true;
  rotary.use_tanh_gelu = true;
  check(rotary, {length}, tokens(2));

  xt::xarray<float> series = xt::zeros<float>({std::size_t{2}, length, std::size_t{4}});
  for (std::size_t i = 0; i < series.size(); ++i) {
    series.flat(i) = static_cast<float>(std::sin(static_cast<double>(i * i)));
  }
  check(sequential{glia::positional_encoding{},
                   glia::named{"block",
                               residual{sequential{layer_norm{},
                                                   multi_head_attention{.num_heads = 2,
                                                                        .key_dim = 3,
                                                                        .value_dim = 5,
                                                                        .use_causal_mask = true}}}},
                   glia::tanh, glia::dropout{0.5},
                   time_distributed{sequential{dense{6, glia::relu}, dense{2}}}},
        {length, 4}, series);
}

TEST_CASE("prepared blocks give the same bits, and longer ones are compiled later") {
  const glia::model net{
      sequential{glia::conv1d{.filters = 5, .kernel_size = 3, .padding = glia::causal},
                 glia::gru{.units = 4, .return_sequences = true}},
      {length, 2}};
  xt::xarray<float> x = xt::zeros<float>({std::size_t{2}, length, std::size_t{2}});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>(std::sin(static_cast<double>(i * i)));
  }
  const xt::xarray<float> expected = in_blocks(net, x, {5, 3});
  for (const std::size_t prepared : {1U, 5U, 8U, 40U}) {
    const stream blocks{net, {.batch_size = 2, .prepared_steps = prepared}};
    const glia::stream_state start = blocks.start();
    CHECK(start.steps == 0);
    for (int sequence = 0; sequence < 2; ++sequence) {
      glia::stream_state state = start;
      for (std::size_t step = 0; step < length; step += 5) {
        const std::size_t end = std::min(length, step + 5);
        const xt::xarray<float> y = blocks(steps_of(x, step, end), state);
        CHECK((y == steps_of(expected, step, end)));
      }
    }
  }
  // No block is longer than a sequence.
  const glia::model limited{small_gpt(), {length}};
  const stream blocks{limited, {.max_steps = 6, .prepared_steps = 64}};
  glia::stream_state state = blocks.start();
  CHECK(blocks(tokens(1, 6), state).size() == 66);
}

TEST_CASE("copies of a state continue on their own, and a stream keeps its parameters") {
  glia::model net{small_gpt(), {length}};
  const stream blocks{net, {.max_steps = 30}};
  CHECK(blocks.max_steps() == 30);
  CHECK(blocks.step_shape() == glia::shape{});
  CHECK(blocks.output_shape() == glia::shape{11});
  const xt::xarray<float> x = tokens(1, 30);
  glia::stream_state state = blocks.start();
  CHECK(state.values.size() == 4);  // keys and values of two layers
  static_cast<void>(blocks(steps_of(x, 0, 9), state));
  glia::stream_state copy = state;
  const xt::xarray<float> first = blocks(steps_of(x, 9, 30), state);
  CHECK(copy.steps == 9);
  static_cast<void>(blocks(steps_of(x, 0, 5), copy));  // other steps
  glia::stream_state again = blocks.start();
  net.set("tokens.embeddings", 2 * net.get("tokens.embeddings"));
  static_cast<void>(blocks(steps_of(x, 0, 9), again));
  CHECK((blocks(steps_of(x, 9, 30), again) == first));
}

TEST_CASE("the same bits for any number of threads, and in double on the reference device") {
  const xt::xarray<float> x = tokens(2);
  const auto run = [&](std::size_t threads) {
    const glia::model net{small_gpt(), {length}, glia::cpu<float>({.threads = threads})};
    return in_blocks(net, x, {5, 1});
  };
  const xt::xarray<float> one = run(1);
  CHECK((run(3) == one));

  const glia::model precise{small_gpt(), {length}, glia::reference<double>()};
  const stream blocks{precise, {.batch_size = 2}};
  glia::stream_state state = blocks.start();
  const xt::xarray<double> wide = xt::cast<double>(x);
  const xt::xarray<double> whole = precise.predict<double>(wide);
  const xt::xarray<double> y = blocks.operator()<double>(wide, state);
  double difference = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    difference = std::max(difference, std::abs(y.flat(i) - whole.flat(i)));
  }
  CHECK(difference < 1e-13);
}

TEST_CASE("a stream says which layer cannot run in blocks") {
  const auto refusal = [](const auto& description, const glia::shape& sample) {
    const glia::model net{description, sample};
    return message_of<glia::value_error>([&] { const stream blocks{net}; });
  };
  const multi_head_attention attention{.num_heads = 2, .key_dim = 3};
  CHECK(refusal(sequential{attention}, {5, 4}) ==
        "sequential[0] multi_head_attention(2 heads of 3): stream: attention without a causal mask "
        "reads later steps; set use_causal_mask, or predict whole sequences");
  CHECK(test::contains(refusal(sequential{glia::softmax}, {5}),
                       "a softmax over the steps of a sequence cannot run on blocks"));
  CHECK(test::contains(refusal(glia::outputs{glia::output{"y", glia::layer_norm{}}}, {5, 1}),
                       "a layer of type 'outputs' cannot run on blocks"));
  CHECK(refusal(sequential{layer_norm{},
                           glia::bidirectional(glia::gru{.units = 2, .return_sequences = true})},
                {5, 4})
            .starts_with("sequential[1] parallel("));
  CHECK(refusal(glia::reshape{{5, 2, 2}}, {5, 4})
            .find("a layer of type 'reshape' cannot run on blocks of a sequence") !=
        std::string::npos);
  CHECK(test::contains(
      refusal(
          sequential{embedding{.input_dim = 5, .output_dim = 4, .mask_zero = true},
                     multi_head_attention{.num_heads = 2, .key_dim = 3, .use_causal_mask = true}},
          {5}),
      "padding steps cannot run in blocks"));
  const glia::model flat{sequential{glia::flatten{}, dense{2}}, {5, 4}};
  CHECK(
      message_of<glia::shape_error>([&] { const stream blocks{flat}; }) ==
      "stream: expected a model whose outputs have a row for each of the 5 steps of a sample, got "
      "outputs (N, 2); keep the steps, for example with return_sequences");
  const glia::model net{small_gpt(), {length}};
  CHECK(message_of<glia::value_error>([&] {
          const stream blocks{net, {.batch_size = 0}};
        }) == "stream: expected a batch_size of at least 1");
  CHECK(test::contains(message_of<glia::shape_error>([&] {
                         const stream blocks{net, {.max_steps = 33}};
                       }),
                       "expected at most 32 steps"));
}

namespace {

xt::xarray<float> waves(std::size_t sequences, std::size_t channels) {
  xt::xarray<float> x = xt::zeros<float>({sequences, length, channels});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>(std::sin(static_cast<double>(i * i)));
  }
  return x;
}

/// Layers that keep a memory of earlier steps: with the activations of the fused kernel, with
/// others, and causal convolutions.
template <class Check>
void for_each_memory(const Check& check) {
  using glia::gru;
  using glia::lstm;
  using glia::simple_rnn;
  check(simple_rnn{.units = 5, .return_sequences = true});
  check(simple_rnn{.units = 5, .return_sequences = true, .activation = glia::relu});
  check(gru{.units = 5, .return_sequences = true});
  check(gru{.units = 5, .return_sequences = true, .reset_after = false});
  check(lstm{.units = 5, .return_sequences = true});
  check(lstm{.units = 5, .return_sequences = true, .activation = glia::relu});
  check(glia::conv1d{.filters = 4, .kernel_size = 3, .padding = glia::causal});
  check(glia::conv1d{.filters = 4,
                     .kernel_size = 4,
                     .padding = glia::causal,
                     .dilation_rate = 3,
                     .groups = 2,
                     .activation = glia::tanh});
  check(glia::conv1d{.filters = 3, .kernel_size = 1});
  check(sequential{
      glia::conv1d{
          .filters = 4, .kernel_size = 3, .padding = glia::causal, .activation = glia::relu},
      residual{sequential{layer_norm{}, lstm{.units = 4, .return_sequences = true}}},
      gru{.units = 6, .return_sequences = true}, time_distributed{dense{2}}});
}

}  // namespace

TEST_CASE("recurrent layers and causal convolutions give the bits of the whole sequence") {
  const auto check = [](const auto& description, const glia::device& device) {
    const glia::model net{description, {length, 4}, device};
    for (const std::size_t sequences : {1U, 3U}) {
      const xt::xarray<float> x = waves(sequences, 4);
      const xt::xarray<float> whole = net.predict(x);
      const std::vector<std::vector<std::size_t>> plans{{1}, {7}, {length}, {3, 1, 8, 2}};
      for (const auto& lengths : plans) {
        CHECK((in_blocks(net, x, lengths) == whole));
      }
    }
  };
  for_each_memory([&](const auto& description) {
    check(description, glia::cpu<float>());
    check(description, glia::reference<float>());
  });
}

TEST_CASE("twenty networks give the bits of long sequences in blocks of 1, 7, 64 and mixed") {
  using glia::conv1d;
  using glia::gru;
  using glia::lstm;
  constexpr std::size_t steps = 150;
  std::size_t networks = 0;
  const auto check = [&](const auto& description, const glia::shape& sample,
                         const xt::xarray<float>& x) {
    ++networks;
    using glia::cpu_loops::isa;
    std::vector<glia::device> devices{glia::cpu({.products = glia::bfloat16})};
    for (const isa level : {isa::baseline, isa::avx2, isa::avx512}) {
      if (level <= glia::cpu_loops::best_isa()) {
        devices.push_back(glia::cpu({.isa = level}));
      }
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
      const glia::model net{description, sample, devices[i]};
      const xt::xarray<float> whole = net.predict(x);
      const std::vector<std::vector<std::size_t>> plans{{1}, {7}, {64}, {64, 1, 7, 30}};
      for (const auto& lengths : plans) {
        INFO(net.plan().description << ", device " << i);
        CHECK((in_blocks(net, x, lengths) == whole));
      }
    }
  };
  const auto waves_of = [](std::size_t channels) {
    xt::xarray<float> x = xt::zeros<float>({std::size_t{1}, steps, channels});
    for (std::size_t i = 0; i < x.size(); ++i) {
      x.flat(i) = static_cast<float>(std::sin(static_cast<double>(i * i)));
    }
    return x;
  };
  const auto on_waves = [&](const auto& description, std::size_t channels) {
    check(description, {steps, channels}, waves_of(channels));
  };
  const auto convolution = [](std::size_t filters, std::size_t dilation) {
    return conv1d{.filters = filters,
                  .kernel_size = 3,
                  .padding = glia::causal,
                  .dilation_rate = dilation,
                  .activation = glia::relu};
  };
  const auto attention = [](std::size_t heads, std::size_t channels, bool rotary = false) {
    return multi_head_attention{.num_heads = heads,
                                .key_dim = channels,
                                .use_causal_mask = true,
                                .use_rotary_embedding = rotary};
  };
  const time_distributed last{dense{1}};
  on_waves(sequential{lstm{.units = 40, .return_sequences = true}, last}, 1);
  on_waves(sequential{gru{.units = 33, .return_sequences = true}, last}, 3);
  on_waves(sequential{glia::simple_rnn{.units = 24, .return_sequences = true}, last}, 2);
  on_waves(sequential{lstm{.units = 16, .return_sequences = true},
                      lstm{.units = 16, .return_sequences = true}, last},
           1);
  on_waves(sequential{gru{.units = 64, .return_sequences = true},
                      gru{.units = 8, .return_sequences = true}, last},
           5);
  on_waves(sequential{convolution(16, 1), convolution(16, 2), convolution(16, 4),
                      convolution(16, 8), last},
           1);
  on_waves(sequential{residual{convolution(4, 1)}, residual{convolution(4, 16)}}, 4);
  on_waves(sequential{convolution(32, 1), glia::batch_norm{}, glia::tanh, convolution(2, 3)}, 2);
  on_waves(sequential{time_distributed{dense{8, glia::tanh}}, convolution(4, 2),
                      gru{.units = 8, .return_sequences = true}, last},
           1);
  on_waves(sequential{convolution(8, 1), lstm{.units = 20, .return_sequences = true},
                      glia::dropout{0.5}, last},
           2);
  on_waves(attention(1, 4), 3);
  on_waves(attention(4, 8), 32);
  on_waves(attention(2, 6, true), 12);
  on_waves(
      sequential{glia::positional_encoding{}, residual{sequential{layer_norm{}, attention(2, 8)}},
                 residual{sequential{
                     layer_norm{}, time_distributed{sequential{dense{32, glia::gelu}, dense{8}}}}}},
      8);
  on_waves(sequential{convolution(16, 1), attention(2, 8),
                      gru{.units = 8, .return_sequences = true}, last},
           1);
  on_waves(glia::named{"whole", glia::frozen{sequential{convolution(4, 1), last}}}, 2);
  check(sequential{glia::embedding{.input_dim = 11, .output_dim = 16},
                   gru{.units = 32, .return_sequences = true}, time_distributed{dense{11}}},
        {steps}, tokens(1, steps));
  check(sequential{glia::embedding{.input_dim = 11, .output_dim = 24},
                   glia::position_embedding{.sequence_length = steps}, attention(3, 8), last},
        {steps}, tokens(2, steps));
  auto language = small_gpt();
  language.sequence_length = steps;
  check(language, {steps}, tokens(1, steps));
  language.use_rotary_embedding = true;
  language.embedding_dim = 32;
  check(language, {steps}, tokens(2, steps));
  CHECK(networks == 20);
}

TEST_CASE("sequences without positions can have any length") {
  const glia::model net{
      sequential{glia::conv1d{.filters = 4, .kernel_size = 3, .padding = glia::causal},
                 glia::gru{.units = 3, .return_sequences = true}},
      {5, 2}};
  const stream blocks{net};
  CHECK(blocks.max_steps() == std::numeric_limits<std::size_t>::max());
  glia::stream_state state = blocks.start();
  CHECK(state.values.size() == 2);
  state.steps = std::size_t{1} << 40;
  const xt::xarray<float> y = blocks(waves(1, 2), state);
  CHECK(state.steps == (std::size_t{1} << 40) + length);
  glia::stream_state first = blocks.start();
  CHECK((blocks(waves(1, 2), first) == y));
}

TEST_CASE("a stream refuses layers that need later steps or drop some") {
  const auto refusal = [](const auto& layer) {
    const glia::model net{layer, {6, 4}};
    return message_of<glia::value_error>([&] { const stream blocks{net}; });
  };
  CHECK(
      test::contains(refusal(glia::gru{.units = 2, .return_sequences = true, .go_backwards = true}),
                     "reads backwards"));
  CHECK(test::contains(refusal(sequential{glia::lstm{.units = 6}, glia::reshape{{6, 1}}}),
                       "lstm(6): stream: expected an output for each step; set return_sequences"));
  CHECK(test::contains(refusal(glia::conv1d{.filters = 2, .kernel_size = 3, .padding = glia::same}),
                       "set .padding = glia::causal"));
  CHECK(test::contains(
      refusal(sequential{
          glia::conv1d{.filters = 2, .kernel_size = 3, .strides = 2, .padding = glia::causal},
          glia::reshape{{6, 1}}}),
      "expected strides of 1, got 2"));
}

TEST_CASE("a stream refuses other shapes, tokens and lengths, and keeps its state") {
  const glia::model net{small_gpt(), {length}};
  const stream blocks{net};
  glia::stream_state state = blocks.start();
  const xt::xarray<float> x = tokens(1);
  const xt::xarray<float> y = blocks(x, state);
  CHECK(message_of<glia::value_error>([&] { static_cast<void>(blocks(x, state)); }) ==
        "stream: a sequence of 46 steps is longer than max_steps, 23; begin a new one with "
        "start(), or make the stream with more max_steps");
  state = blocks.start();
  CHECK(message_of<glia::shape_error>([&] { static_cast<void>(blocks(tokens(2), state)); }) ==
        "stream: expected steps of shape (1, 1), with any number of steps, got (2, 23)");
  CHECK(test::contains(
      message_of<glia::data_error>([&] {
        static_cast<void>(blocks(xt::xarray<float>{{1, 11}}, state));
      }),
      "sample 0 of the batch has the value 11 at index 1; expected integers from 0 to "
      "10"));
  std::vector<float> outputs(12);
  const std::vector<float> steps{1};
  CHECK(message_of<glia::shape_error>(
            [&] { blocks.run(std::span<const float>(steps), std::span<float>(outputs), state); }) ==
        "stream: expected 1 numbers for each step of each of 1 sequences, and 11 for its output, "
        "got 1 and 12");
  glia::stream_state foreign;
  CHECK(
      test::contains(message_of<glia::value_error>([&] { static_cast<void>(blocks(x, foreign)); }),
                     "the state belongs to another stream; make it with start()"));
  CHECK(state.steps == 0);
  CHECK((blocks(x, state) == y));
}

TEST_CASE("a state of another stream is refused, and an empty block changes nothing") {
  const glia::model net{small_gpt(), {length}};
  const stream blocks{net};
  const stream longer{net, {.max_steps = 30}};
  glia::stream_state other = longer.start();
  CHECK(test::contains(
      message_of<glia::value_error>([&] { static_cast<void>(blocks(tokens(1), other)); }),
      "the state belongs to another stream"));
  glia::stream_state state = blocks.start();
  const xt::xarray<float> none = blocks(xt::zeros<float>({1, 0}), state);
  CHECK((none.shape(1) == 0 && state.steps == 0));
}

TEST_CASE("rotary embeddings continue beyond the steps of a sample") {
  auto network = small_gpt();
  network.use_rotary_embedding = true;
  const glia::model trained{network, {8}};
  glia::model wide{network, {length}};
  for (const auto& p : trained.parameters()) {
    wide.set(p.spec.name, trained.get(p.spec.name));
  }
  const stream blocks{trained, {.max_steps = length}};
  glia::stream_state state = blocks.start();
  const xt::xarray<float> x = tokens(1);
  CHECK((blocks(x, state) == wide.predict(x)));
}

TEST_CASE("compositions of layers run in blocks") {
  const multi_head_attention attention{
      .num_heads = 2, .key_dim = 3, .use_causal_mask = true, .use_rotary_embedding = false};
  const glia::shared block{"block", residual{sequential{layer_norm{}, attention}}};
  const glia::model net{sequential{glia::frozen{block}, block, glia::named{"last", attention}},
                        {length, 4}};
  xt::xarray<float> series = xt::zeros<float>({std::size_t{1}, length, std::size_t{4}});
  for (std::size_t i = 0; i < series.size(); ++i) {
    series.flat(i) = static_cast<float>(std::cos(static_cast<double>(i * i)));
  }
  CHECK((in_blocks(net, series, {3, 1}) == net.predict(series)));
}

TEST_CASE("threads share a stream, each with its own state") {
  const glia::model net{small_gpt(), {length}};
  const xt::xarray<float> x = tokens(1);
  const xt::xarray<float> expected = in_blocks(net, x, {5, 2});
  const stream blocks{net};
  std::vector<xt::xarray<float>> results(4, expected);
  std::vector<std::thread> threads;
  for (xt::xarray<float>& result : results) {
    result.fill(0);
    threads.emplace_back([&] {
      glia::stream_state state = blocks.start();
      for (std::size_t i = 0; state.steps < length; ++i) {
        const std::size_t begin = state.steps;
        const std::size_t end = std::min(length, begin + (i % 2 == 0 ? 5 : 2));
        xt::view(result, xt::all(), xt::range(begin, end)) = blocks(steps_of(x, begin, end), state);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const xt::xarray<float>& result : results) {
    CHECK((result == expected));
  }
}
