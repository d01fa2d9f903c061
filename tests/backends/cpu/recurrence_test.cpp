#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::message_of;
using test::tensor_of;
using test::values_of;

namespace {

/// All parameters after three steps on sequences some of whose steps are zeros.
template <class Layers, class B>
auto trained_on_sequences(const Layers& layers, const B& device, std::size_t samples,
                          const glia::shape& sample) {
  glia::model net{layers, sample, device, {.seed = 3}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.5}};
  glia::batch b;
  b.size = samples;
  b.input_shape = glia::batch_of(samples, sample);
  b.target_shape = glia::batch_of(samples, net.output_shape());
  glia::random_stream random({.seed = 4});
  for (std::size_t i = 0; i < b.input_shape.size(); ++i) {
    const bool passed_over = i / sample[1] % 3 == 1;
    b.inputs.push_back(passed_over ? 0.0F : static_cast<float>(random.normal()));
  }
  for (std::size_t i = 0; i < b.target_shape.size(); ++i) {
    b.targets.push_back(static_cast<float>(random.normal()));
  }
  for (int step = 0; step < 3; ++step) {
    trainer.step(b);
  }
  return test::parameters_of(net);
}

template <class Layer>
void require_same_training(const Layer& layer) {
  INFO(glia::text(layer));
  for (const std::size_t samples : {1U, 5U, 70U}) {
    for (const std::size_t steps : {1U, 4U}) {
      const glia::shape sample{steps, 3};
      const auto expected = trained_on_sequences(layer, glia::reference<double>(), samples, sample);
      const auto serial =
          trained_on_sequences(layer, glia::cpu<double>({.threads = 1}), samples, sample);
      CHECK(test::distance(serial, expected) < tolerance::double_kernel);
      CHECK(trained_on_sequences(layer, glia::cpu<double>({.threads = 3}), samples, sample) ==
            serial);
      const auto train = [&](std::size_t threads, glia::cpu_loops::isa level) {
        return trained_on_sequences(layer, glia::cpu<float>({.threads = threads, .isa = level}),
                                    samples, sample);
      };
      for (const auto level : {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2,
                               glia::cpu_loops::best_isa()}) {
        CHECK(test::distance(train(1, level), expected) < tolerance::golden);
        CHECK(train(1, level) == train(2, level));
      }
    }
  }
}

glia::tensor normal_numbers(const glia::device& device, const glia::shape& s,
                            glia::random_stream& random) {
  std::vector<float> values(s.size());
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(random.normal()); });
  return tensor_of(device, s, values);
}

}  // namespace

TEST_CASE("recurrent layers in one kernel train as those that are composed of others") {
  const auto in_all_ways = [](auto layer) {
    require_same_training(layer);
    layer.return_sequences = true;
    require_same_training(glia::sequential{glia::masking{}, glia::bidirectional(layer)});
    layer.recurrent_dropout = 0.4;
    layer.dropout = 0.2;
    require_same_training(glia::sequential{layer});
    layer.return_sequences = false;
    layer.use_bias = false;
    layer.go_backwards = true;
    require_same_training(glia::sequential{glia::masking{}, layer});
  };
  in_all_ways(glia::gru{.units = 7});
  in_all_ways(glia::lstm{.units = 5});
  in_all_ways(glia::simple_rnn{.units = 37});
}

TEST_CASE("a sample's steps do not depend on the samples beside it") {
  const glia::cpu<float> device({.threads = 2});
  glia::random_stream random({.seed = 6});
  const auto drawn = [&](const glia::shape& s) { return normal_numbers(device, s, random); };
  const glia::tensor absent;
  const auto w = drawn({8, 24});
  const auto x = drawn({9, 5, 24});
  const auto dy = drawn({9, 5, 8});
  const kernels::recurrence forward{glia::recurrent_cell::gru};
  const kernels::recurrence_gradient backward{glia::recurrent_cell::gru};
  const auto [states, saved, end] = device.run(forward, x, w, absent, absent, absent, absent);
  const auto [dx, dproducts] = device.run(backward, dy, states, saved, w, absent, absent);
  for (const std::size_t first : {0U, 4U, 7U}) {
    const std::size_t count = first == 7 ? 2 : 3;
    const auto [partial_states, partial_saved, partial_end] =
        device.run(forward, test::host_of(device).copy(x.rows(first, count)), w, absent, absent,
                   absent, absent);
    CHECK(values_of(device, partial_states) == values_of(device, states.rows(first, count)));
    const auto gradients = device.run(backward, test::host_of(device).copy(dy.rows(first, count)),
                                      partial_states, partial_saved, w, absent, absent);
    CHECK(values_of(device, gradients[0]) == values_of(device, dx.rows(first, count)));
    CHECK(values_of(device, gradients[1]) == values_of(device, dproducts.rows(first, count)));
  }
}

TEST_CASE("a recurrence continues from the memory after earlier steps") {
  const glia::cpu<float> device({.threads = 2});
  glia::random_stream random({.seed = 7});
  const auto drawn = [&](const glia::shape& s) { return normal_numbers(device, s, random); };
  const glia::tensor absent;
  using glia::recurrent_cell;
  for (const recurrent_cell cell :
       {recurrent_cell::simple, recurrent_cell::gru, recurrent_cell::lstm}) {
    constexpr std::size_t units = 19;
    const std::size_t width = units * kernels::products_of(cell);
    const kernels::recurrence k{.cell = cell, .keeps = false};
    const auto w = drawn({units, width});
    const auto bias = drawn({width});
    const auto scale = drawn({3, units});
    const auto x = drawn({3, 7, width});
    const auto start = drawn({3, units * kernels::memory_count(cell)});
    const auto whole = device.run(k, x, w, bias, scale, absent, start);
    const auto part = [&](std::size_t begin, std::size_t count) {
      return device.run(kernels::slice{1, begin, count}, x);
    };
    const auto first = device.run(k, part(0, 3), w, bias, scale, absent, start);
    const auto second = device.run(k, part(3, 4), w, bias, scale, absent, first[2]);
    CHECK(values_of(device, second[2]) == values_of(device, whole[2]));
    CHECK(values_of(device, second[0]) ==
          values_of(device, device.run(kernels::slice{1, 3, 4}, whole[0])));
    const auto zeros = device.run(kernels::full{start.shape(), 0});
    const auto from_zeros = device.run(k, x, w, bias, scale, absent, zeros);
    const auto from_nothing = device.run(k, x, w, bias, scale, absent, absent);
    CHECK(values_of(device, from_zeros[0]) == values_of(device, from_nothing[0]));
    CHECK(!from_nothing[2]);
  }
}

TEST_CASE("the kernel of recurrent layers says what it does not take") {
  const glia::cpu<float> device;
  const glia::tensor absent;
  const auto full = [&](const glia::shape& s) { return device.run(kernels::full{s, 1}); };
  const kernels::recurrence lstm{glia::recurrent_cell::lstm};
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(lstm, full({2, 3, 12}), full({4, 16}), absent, absent, absent, absent);
        }) ==
        "recurrence: expected steps (N, T, 4 U) and weights (U, 4 U), got (2, 3, 12) and (4, 16)");
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(lstm, full({2, 3, 16}), full({4, 16}), absent, full({3, 4}), absent,
                           absent);
        }) == "recurrence: scale: expected shape (2, 4), got (3, 4)");
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(lstm, full({2, 3, 16}), full({4, 16}), absent, absent, full({2, 4}),
                           absent);
        }) == "recurrence: counts: expected shape (2, 3), got (2, 4)");
  CHECK(message_of<glia::shape_error>([&] {
          (void)device.run(lstm, full({2, 3, 16}), full({4, 16}), absent, absent, absent,
                           full({2, 4}));
        }) == "recurrence: start: expected shape (2, 8), got (2, 4)");
}
