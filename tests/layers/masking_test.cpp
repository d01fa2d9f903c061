#include <glia/testing/gradient_check.hpp>

#include "../golden/keras_layers_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

namespace {

constexpr std::size_t masked_samples = 3;
constexpr std::size_t masked_steps = 5;
constexpr bool counting[masked_samples][masked_steps] = {{true, true, true, true, true},
                                                         {true, true, true, false, false},
                                                         {false, true, false, true, false}};

/// Sequences by the formula, steps that do not count being `filling`.
std::vector<float> masked_input(std::size_t features, std::size_t offset, float filling = 0) {
  std::vector<float> x = test::by_formula({masked_samples, masked_steps, features}, offset);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t step = i / features;
    x[i] = counting[step / masked_steps][step % masked_steps] ? x[i] : filling;
  }
  return x;
}

/// Says which steps count whatever they are, for gradients by differences.
struct fixed_mask {
  [[nodiscard]] glia::variable operator()(glia::scope& s, glia::variable x) const {
    std::vector<float> counts;
    for (const auto& sample : counting) {
      counts.insert(counts.end(), std::begin(sample), std::end(sample));
    }
    s.set_step_mask(
        s.device().from_host(std::span<const float>(counts), {masked_samples, masked_steps}));
    return x;
  }
  [[nodiscard]] static std::string description() { return "fixed_mask"; }
};

/// The same numbers whatever comes.
struct fixed_words {
  std::vector<float> words;

  [[nodiscard]] glia::variable operator()(glia::scope&, const glia::variable& x) const {
    return x.owner().constant(
        x.device().from_host(std::span<const float>(words).first(x.shape().size()), x.shape()));
  }
  [[nodiscard]] static std::string description() { return "fixed_words"; }
};

template <class Layer>
double gradient_error_behind_mask(const Layer& layer, const glia::shape& batch) {
  return glia::testing::layer_gradient_error(glia::cpu<double>(),
                                             glia::sequential{fixed_mask{}, layer}, {batch, 1U});
}

template <class Layer>
void check_masked(Layer layer, const auto& expected_sequence, const auto& expected_last) {
  INFO(layer);
  const glia::shape batch{masked_samples, masked_steps, 4};
  for (const float filling : {0.0F, 9.0F}) {
    const auto outputs = [&](const Layer& recurrent) {
      return test::outputs_of(glia::sequential{glia::masking{filling}, recurrent}, batch,
                              masked_input(4, 13, filling), {17, 19, 29});
    };
    layer.return_sequences = true;
    CHECK(test::distance(outputs(layer), expected_sequence) < tolerance::golden);
    layer.return_sequences = false;
    CHECK(test::distance(outputs(layer), expected_last) < tolerance::golden);
  }
  layer.return_sequences = true;
  CHECK(gradient_error_behind_mask(layer, batch) < tolerance::gradient);
  layer.zero_output_for_mask = true;
  CHECK(gradient_error_behind_mask(layer, batch) < tolerance::gradient);
  layer.return_sequences = false;
  CHECK(gradient_error_behind_mask(layer, batch) < tolerance::gradient);
}

}  // namespace

TEST_CASE("recurrent layers pass over masked steps as Keras's do") {
  using namespace glia_golden;
  constexpr std::size_t units = 3;
  check_masked(glia::gru{.units = units}, masked_gru, masked_gru_last);
  check_masked(glia::gru{.units = units, .go_backwards = true}, masked_gru_backwards,
               masked_gru_backwards_last);
  check_masked(glia::gru{.units = units, .reset_after = false}, masked_gru_before,
               masked_gru_before_last);
  check_masked(glia::gru{.units = units, .go_backwards = true, .reset_after = false},
               masked_gru_before_backwards, masked_gru_before_backwards_last);
  check_masked(glia::lstm{.units = units}, masked_lstm, masked_lstm_last);
  check_masked(glia::lstm{.units = units, .go_backwards = true}, masked_lstm_backwards,
               masked_lstm_backwards_last);
  check_masked(glia::simple_rnn{.units = units}, masked_simple_rnn, masked_simple_rnn_last);
  check_masked(glia::simple_rnn{.units = units, .go_backwards = true}, masked_simple_rnn_backwards,
               masked_simple_rnn_backwards_last);
  const glia::sequential both{
      glia::masking{}, glia::bidirectional(glia::gru{.units = units, .return_sequences = true})};
  CHECK(test::distance(test::outputs_of(both, {masked_samples, masked_steps, 4},
                                        masked_input(4, 13), {17, 19, 29, 43, 47, 59}),
                       masked_both_ways) < tolerance::golden);
}

TEST_CASE("attention and means leave masked steps out as Keras's do") {
  const glia::shape batch{masked_samples, masked_steps, 6};
  for (const bool causal : {false, true}) {
    const glia::sequential attention{
        glia::masking{},
        glia::multi_head_attention{.num_heads = 2, .key_dim = 3, .use_causal_mask = causal}};
    std::vector<float> y =
        test::outputs_of(attention, batch, masked_input(6, 37), {43, 73, 47, 79, 59, 109, 67, 113});
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t step = i / 6;
      y[i] *= counting[step / masked_steps][step % masked_steps] ? 1.0F : 0.0F;
    }
    CHECK(test::distance(y, causal ? glia_golden::masked_attention_causal
                                   : glia_golden::masked_attention) < tolerance::golden);
    const glia::multi_head_attention layer{.num_heads = 2, .key_dim = 3, .use_causal_mask = causal};
    CHECK(gradient_error_behind_mask(layer, batch) < tolerance::gradient);
  }
  CHECK(gradient_error_behind_mask(glia::global_avg_pool1d{}, batch) < tolerance::gradient);
  const glia::sequential mean{glia::masking{}, glia::global_avg_pool1d{}};
  CHECK(test::distance(
            test::outputs_of(mean, {masked_samples, masked_steps, 4}, masked_input(4, 13), {}),
            glia_golden::masked_mean) < tolerance::golden);
}

TEST_CASE("embeddings of words mask what only fills sequences up, as Keras's do") {
  const std::vector<float> words{3, 1, 6, 2, 5, 4, 4, 1, 0, 0, 0, 2, 0, 6, 0};
  const auto network = [](bool mask) {
    return glia::sequential{glia::embedding{.input_dim = 7, .output_dim = 4, .mask_zero = mask},
                            glia::gru{.units = 3, .return_sequences = true},
                            glia::lstm{.units = 2}};
  };
  const std::vector<std::size_t> offsets{61, 17, 19, 29, 43, 47, 59};
  CHECK(test::distance(test::outputs_of(network(true), {3, 5}, words, offsets),
                       glia_golden::words) < tolerance::golden);
  CHECK(test::distance(test::outputs_of(network(false), {3, 5}, words, offsets),
                       glia_golden::words) > 1e-3);
  // The table's gradient, which is that of rows that are seen several times, or never.
  const auto behind = [&](const auto& layer) {
    return glia::sequential{fixed_words{words}, layer};
  };
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), behind(network(true)),
                                            {{3, 5}, 1U}) < tolerance::gradient);
}

TEST_CASE("a mask reaches what follows, and no branch but its own") {
  const glia::shape batch{masked_samples, masked_steps, 4};
  const std::vector<float> x = masked_input(4, 13);
  const auto mean_of = [&](const auto& description) {
    return test::run_layer(description, batch, x, {});
  };
  const auto masked_mean = mean_of(glia::sequential{glia::masking{}, glia::global_avg_pool1d{}});
  const auto plain_mean = mean_of(glia::global_avg_pool1d{});
  REQUIRE(test::distance(masked_mean, plain_mean) > 0.01);
  const glia::lambda same{"same", [](auto y) { return y; }};
  // Through layers, names and branches that keep the steps.
  const auto through = [&](const auto& layer) {
    return mean_of(glia::sequential{glia::masking{}, layer, glia::global_avg_pool1d{}});
  };
  CHECK(through(same) == masked_mean);
  CHECK(through(glia::named{"inner", glia::sequential{same, same}}) == masked_mean);
  CHECK(through(glia::time_distributed{same}) == masked_mean);
  CHECK(through(glia::parallel{glia::join::multiply{}, same}) == masked_mean);
  CHECK(through(glia::spatial_dropout{}) == masked_mean);
  // What masks in one branch says nothing of another.
  const auto branches = mean_of(glia::parallel{
      glia::sequential{glia::masking{}, glia::global_avg_pool1d{}}, glia::global_avg_pool1d{}});
  for (std::size_t n = 0; n < masked_samples; ++n) {
    for (std::size_t c = 0; c < 4; ++c) {
      CHECK(branches[n * 8 + c] == masked_mean[n * 4 + c]);
      CHECK(branches[n * 8 + 4 + c] == plain_mean[n * 4 + c]);
    }
  }
}

TEST_CASE("a sample without any steps has states and means of zeros") {
  const std::vector<float> nothing(5 * 4);
  const std::vector<float> zeros(3);
  const auto outputs = [&](const auto& layer, const std::vector<std::size_t>& offsets) {
    return test::outputs_of(glia::sequential{glia::masking{}, layer}, {1, 5, 4}, nothing, offsets);
  };
  CHECK(outputs(glia::gru{.units = 3}, {17, 19, 29}) == zeros);
  CHECK(outputs(glia::lstm{.units = 3}, {17, 19, 29}) == zeros);
  CHECK(outputs(glia::global_avg_pool1d{}, {}) == std::vector<float>(4));
}

TEST_CASE("attention gives its output bias where no step is seen, in every precision") {
  // Of two samples the second has no steps at all; and steps that are left out see nothing. What
  // is behind the mask is not 0, and must not show.
  const glia::shape batch{2, 3, 4};
  std::vector<float> x = test::by_formula(batch, 37);
  std::fill(x.begin() + 4, x.begin() + 8, 9.0F);
  std::fill(x.begin() + 12, x.end(), 9.0F);
  const auto outputs = [&](const auto& device, bool causal) {
    glia::model net{
        glia::sequential{glia::masking{9}, glia::positional_encoding{},
                         glia::multi_head_attention{.num_heads = 1,
                                                    .key_dim = 2,
                                                    .use_causal_mask = causal,
                                                    .bias_initializer = glia::constant(0.25)}},
        {3, 4},
        device,
        {.seed = 5}};
    const auto y = net.predict(xt::adapt(x, std::vector<std::size_t>{2, 3, 4}));
    return std::vector<float>(y.begin(), y.end());
  };
  for (const bool causal : {false, true}) {
    const auto y = outputs(glia::cpu<float>(), causal);
    for (std::size_t i = 0; i < y.size(); ++i) {
      INFO(i);
      const bool sees = i / 4 == 0 || i / 4 == 2;
      CHECK((y[i] == 0.25F) == !sees);
    }
    CHECK(test::distance(y, outputs(glia::cpu<double>(), causal)) < tolerance::hand_computed);
    CHECK(test::distance(y, outputs(glia::reference<float>(), causal)) < tolerance::hand_computed);
  }
}

TEST_CASE("embeddings and masks say what they do not take") {
  const auto planned = [](const auto& layer, const glia::shape& sample) {
    return [=] { static_cast<void>(glia::plan_model(glia::sequential{layer}, sample)); };
  };
  CHECK(contains(message_of<glia::value_error>(planned(glia::embedding{}, {5})),
                 "sequential[0] embedding(0, 0): expected an input_dim of 1 to 2^24"));
  CHECK(contains(message_of<glia::shape_error>(planned(
                     glia::embedding{.input_dim = 3, .output_dim = 2, .mask_zero = true}, {5, 2})),
                 "mask_zero expects sequences of integers (N, T)"));
  CHECK(contains(message_of<glia::shape_error>(planned(glia::masking{}, {5})),
                 "masking(0): expected sequences (N, T, ...)"));
  // Numbers that are no words, in predictions and in training.
  glia::model net{glia::sequential{glia::embedding{.input_dim = 5, .output_dim = 2},
                                   glia::flatten{}, glia::dense{2}},
                  {3}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  for (const float wrong : {5.0F, -1.0F, 0.5F, NAN}) {
    const xt::xarray<float> words{{1, 2, 3}, {4, wrong, 0}};
    const auto expected = [&](const std::string& message) {
      return contains(message,
                      "sequential[0] embedding(5, 2): sample 1 of the batch has the value ") &&
             contains(message, "at index 1; expected integers from 0 to 4");
    };
    CHECK(expected(message_of<glia::data_error>([&] { static_cast<void>(net.predict(words)); })));
    CHECK(expected(message_of<glia::data_error>(
        [&] { static_cast<void>(net.prepare({.batch_size = 2})(words)); })));
    const glia::labeled_arrays data(words, xt::xarray<int>{0, 1});
    CHECK(expected(message_of<glia::data_error>(
        [&] { trainer.fit(data, {.batch_size = 2, .shuffle = false, .progress = nullptr}); })));
    CHECK(expected(message_of<glia::data_error>(
        [&] { static_cast<void>(glia::evaluate(net, data, glia::softmax_cross_entropy{})); })));
  }
}

TEST_CASE("noise is normally distributed, in training alone") {
  const glia::shape batch{100, 1000};
  const std::vector<float> x(batch.size(), 1);
  const glia::gaussian_noise noise{2};
  CHECK(test::run_layer(noise, batch, x, {}) == x);
  const std::vector<float> y = test::run_layer(noise, batch, x, {}, glia::run_mode::training);
  // Moments of 100,000 numbers, within five standard errors.
  double moments[4] = {};
  double fractions[3] = {};
  for (const float value : y) {
    const double z = (static_cast<double>(value) - 1) / 2;
    double power = 1;
    for (double& moment : moments) {
      power *= z;
      moment += power / static_cast<double>(y.size());
    }
    for (int k = 0; k < 3; ++k) {
      fractions[k] += std::abs(z) < k + 1 ? 1.0 / static_cast<double>(y.size()) : 0;
    }
  }
  CHECK(std::abs(moments[0]) < 0.016);
  CHECK(std::abs(moments[1] - 1) < 0.023);
  CHECK(std::abs(moments[2]) < 0.062);
  CHECK(std::abs(moments[3] - 3) < 0.16);
  CHECK(std::abs(fractions[0] - 0.682689) < 0.0074);
  CHECK(std::abs(fractions[1] - 0.954500) < 0.0033);
  CHECK(std::abs(fractions[2] - 0.997300) < 0.0009);
  CHECK(contains(message_of<glia::value_error>(
                     [] { static_cast<void>(glia::plan_model(glia::gaussian_noise{-1}, {3})); }),
                 "expected a finite stddev of at least 0, got -1"));
}
