#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "cost_device.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;
using test::run_layer;

TEST_CASE("a bidirectional layer reads sequences from both ends") {
  const auto both = glia::bidirectional(glia::gru{.units = 2, .return_sequences = true});
  CHECK(glia::text(both) == "parallel(concat, gru(2, sequences), gru(2, sequences, backwards))");
  glia::model net{glia::sequential{both}, {4, 3}};
  CHECK(net.output_shape() == glia::shape{4, 4});
  // What is read backwards of a sequence is what is read forwards of the reversed one.
  for (const char* const name : {"kernel", "recurrent_kernel", "bias"}) {
    net.set(glia::text("gru_1.", name), net.get(glia::text("gru_0.", name)));
  }
  xt::xarray<float> x = xt::zeros<float>({1, 4, 3});
  xt::xarray<float> reversed = x;
  glia::random_stream random({.seed = 2});
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t i = 0; i < 3; ++i) {
      x(0, t, i) = static_cast<float>(random.normal());
      reversed(0, 3 - t, i) = x(0, t, i);
    }
  }
  const xt::xarray<float> y = net.predict(x);
  const xt::xarray<float> z = net.predict(reversed);
  double worst = 0;
  for (std::size_t t = 0; t < 4; ++t) {
    for (std::size_t u = 0; u < 2; ++u) {
      worst = std::max(worst, std::abs(static_cast<double>(y(0, t, u) - z(0, 3 - t, 2 + u))));
    }
  }
  CHECK(worst < tolerance::hand_computed);
  const glia::sequential summed{glia::bidirectional(glia::lstm{.units = 2}, glia::join::add{})};
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), summed, {{2, 4, 3}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("recurrent layers begin as Keras's do") {
  glia::model net{glia::sequential{glia::lstm{.units = 3}}, {4, 2}};
  const xt::xarray<float> bias = net.get("lstm_0.bias");
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(bias(i) == (i >= 3 && i < 6 ? 1.0F : 0.0F));
  }
  const xt::xarray<float> recurrent = net.get("lstm_0.recurrent_kernel");
  double worst = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      double product = 0;
      for (std::size_t k = 0; k < 12; ++k) {
        product += static_cast<double>(recurrent(i, k)) * static_cast<double>(recurrent(j, k));
      }
      worst = std::max(worst, std::abs(product - (i == j ? 1 : 0)));
    }
  }
  CHECK(worst < tolerance::hand_computed);
  // More rows than columns, and a gain.
  std::vector<float> tall(8 * 3);
  glia::random_stream random({.seed = 5});
  glia::orthogonal(2)(tall, {4, 2, 3}, random);
  double products = 0;
  double squares = 0;
  for (std::size_t row = 0; row < 8; ++row) {
    products += static_cast<double>(tall[row * 3]) * static_cast<double>(tall[row * 3 + 2]);
    squares += static_cast<double>(tall[row * 3 + 1]) * static_cast<double>(tall[row * 3 + 1]);
  }
  CHECK(std::abs(products) < tolerance::hand_computed);
  CHECK(std::abs(squares - 4) < tolerance::hand_computed);
}

TEST_CASE("dropout of recurrent layers is that of a sample at all steps") {
  // A state that only adds up what it is given: h = x + h.
  const glia::simple_rnn adds{.units = 1,
                              .return_sequences = true,
                              .activation = glia::linear,
                              .use_bias = false,
                              .dropout = 0.5};
  const std::vector<float> ones(6 * 4, 1.0F);
  const auto y = run_layer(adds, {6, 4, 1}, ones, {{1}, {1}}, glia::run_mode::training);
  std::size_t dropped = 0;
  for (std::size_t n = 0; n < 6; ++n) {
    const float first = y[n * 4];
    CHECK((first == 0 || first == 2));
    CHECK(y[n * 4 + 3] == 4 * first);
    dropped += first == 0 ? 1 : 0;
  }
  CHECK(dropped > 0);
  CHECK(dropped < 6);
  CHECK(run_layer(adds, {6, 4, 1}, ones, {{1}, {1}})[3] == 4);
  const glia::gru both{.units = 3, .dropout = 0.3, .recurrent_dropout = 0.4};
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), both, {{2, 4, 3}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("what recurrent layers keep grows with the number of steps alone") {
  using device_type = test::cost;
  const auto measure = [](const auto& layer, std::size_t steps) {
    const device_type device;
    const auto make_tensor = [&](const glia::shape& extents) {
      return device.from_host(std::span<const float>(), extents);
    };
    glia::parameter_list parameters;
    for (const auto& spec : glia::plan_model(layer, {steps, 2}).parameters) {
      parameters.push_back({spec, make_tensor(spec.shape)});
    }
    glia::tape tape(device);
    std::vector<glia::gradient_slot> slots;
    glia::scope s(tape, parameters, slots, glia::run_mode::training, {.seed = 1});
    const auto x = tape.constant(make_tensor({1, steps, 2}));
    const auto bytes = device.start_section();
    const auto y = s.run_model(layer, x);
    return static_cast<double>(*bytes) / sizeof(float) / static_cast<double>(steps * layer.units);
  };
  // For each further step, in units.
  const auto grows = [&](const auto& layer) {
    return (200 * measure(layer, 200) - 50 * measure(layer, 50)) / 150;
  };
  CHECK(grows(glia::gru{.units = 128}) == Approx(5));
  CHECK(grows(glia::lstm{.units = 128}) == Approx(6));
  CHECK(grows(glia::simple_rnn{.units = 128}) == Approx(1));
  // Composed of other kernels.
  CHECK(grows(glia::gru{.units = 128, .reset_after = false}) == Approx(8));
  CHECK(grows(glia::lstm{.units = 128, .activation = glia::relu}) == Approx(9));
  CHECK(grows(glia::simple_rnn{.units = 128, .activation = glia::relu}) == Approx(1));
}

TEST_CASE("a GRU adds up two marked numbers of a hundred steps") {
  // Hochreiter and Schmidhuber, 1997: 0.167 is what no memory gets.
  constexpr std::size_t steps = 100;
  const auto make_data = [](std::size_t samples, std::uint64_t seed) {
    xt::xarray<float> x = xt::zeros<float>({samples, steps, std::size_t{2}});
    xt::xarray<float> y = xt::zeros<float>({samples, std::size_t{1}});
    glia::random_stream random({.seed = seed});
    for (std::size_t n = 0; n < samples; ++n) {
      for (std::size_t t = 0; t < steps; ++t) {
        x(n, t, 0) = static_cast<float>(random.uniform());
      }
      for (const std::size_t half : {std::size_t{0}, steps / 2}) {
        const std::size_t marked = half + random.integer(steps / 2);
        x(n, marked, 1) = 1;
        y(n, 0) += x(n, marked, 0);
      }
    }
    return std::pair(x, y);
  };
  const auto [x, y] = make_data(5000, 1);
  const auto [unseen, sums] = make_data(500, 2);
  glia::model net{glia::sequential{glia::gru{.units = 48}, glia::dense{1}}, {steps, 2}};
  glia::trainer trainer{net,
                        glia::mean_squared_error{},
                        glia::adam{.learning_rate = 0.003},
                        {.gradient_transforms = {glia::clip_by_global_norm(1.0)}}};
  const glia::history h = trainer.fit(glia::target_arrays(x, y), glia::target_arrays(unseen, sums),
                                      {.epochs = 10, .batch_size = 32, .progress = nullptr});
  CHECK(h.epochs.back().validation->loss < 0.01);
}

TEST_CASE("recurrent layers say what they do not take") {
  CHECK(
      message_of<glia::shape_error>([] {
        glia::model net{glia::sequential{glia::gru{.units = 3}}, {4}};
      }) ==
      "sequential[0] gru(3): expected sequences (N, T, C) with at least one step, got (N, 4); add "
      "reshape{{T, C}} before it, or .return_sequences = true to a recurrent layer before it");
  CHECK(contains(message_of<glia::value_error>([] {
                   glia::model net{glia::sequential{glia::lstm{}}, {4, 2}};
                 }),
                 "lstm(0): expected at least 1 unit"));
  CHECK(contains(
      message_of<glia::value_error>([] {
        glia::model net{glia::sequential{glia::simple_rnn{.units = 2, .dropout = 1}}, {4, 2}};
      }),
      "expected dropout and recurrent_dropout in [0, 1)"));
}

TEST_CASE("a recurrent network learns a sum over its sequences, to the same bits on any threads") {
  // Whether what is marked adds up to more than nothing.
  constexpr std::size_t samples = 300;
  constexpr std::size_t steps = 8;
  xt::xarray<float> x = xt::zeros<float>({samples, steps, std::size_t{2}});
  xt::xarray<int> y = xt::zeros<int>({samples});
  glia::random_stream random({.seed = 7});
  for (std::size_t n = 0; n < samples; ++n) {
    double sum = 0;
    for (std::size_t t = 0; t < steps; ++t) {
      x(n, t, 0) = static_cast<float>(random.normal());
      x(n, t, 1) = random.uniform() < 0.3 ? 1.0F : 0.0F;
      sum += static_cast<double>(x(n, t, 0) * x(n, t, 1));
    }
    y(n) = sum > 0 ? 1 : 0;
  }
  const glia::labeled_arrays data(x, y);
  const auto trained = [&](std::size_t threads) {
    glia::model net{glia::sequential{glia::gru{.units = 12}, glia::dense{2}},
                    {steps, 2},
                    glia::cpu<float>{{.threads = threads}}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.02}};
    const glia::history h =
        trainer.fit(data, {.epochs = 20, .batch_size = 50, .progress = nullptr});
    CHECK(h.epochs.back().training.metric_values.at(0) > 0.93);
    return test::parameters_of(net);
  };
  const std::vector<float> expected = trained(1);
  CHECK(expected == trained(2));
  CHECK(expected == trained(3));
}
