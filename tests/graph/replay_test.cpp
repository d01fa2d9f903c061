#include "catch.hpp"
#include "cost_device.hpp"
#include "recorded_pass.hpp"

namespace {

/// check(layer, shape of a sample) for layers of sequences, images and branches.
template <class Check>
void for_each_layer(const Check& check) {
  const glia::shape steps{6, 4};
  const glia::gru all_steps{.units = 5, .return_sequences = true};
  check(glia::sequential{glia::masking{}, glia::gru{.units = 5, .recurrent_dropout = 0.3}}, steps);
  check(glia::gru{.units = 3, .reset_after = false}, steps);
  check(glia::bidirectional(glia::lstm{.units = 4, .return_sequences = true}), steps);
  check(glia::simple_rnn{.units = 7, .go_backwards = true}, steps);
  check(glia::sequential{all_steps, glia::masking{}, glia::global_avg_pool1d{}}, steps);
  check(
      glia::multi_head_attention{
          .num_heads = 2, .key_dim = 3, .use_causal_mask = true, .dropout = 0.2},
      steps);
  check(glia::positional_encoding{}, steps);
  check(glia::conv1d{.filters = 3, .kernel_size = 3, .padding = glia::causal}, steps);
  check(glia::time_distributed{glia::sequential{glia::dense{3, glia::tanh}, glia::dropout{0.4}}},
        steps);
  check(glia::max_pool1d{.pool_size = 2}, steps);
  check(glia::spatial_dropout{0.4}, steps);
  check(glia::gaussian_noise{0.3}, steps);
  const glia::shape image{5, 7, 6};
  check(glia::conv2d_transpose{.filters = 2, .kernel_size = 3, .strides = 2}, image);
  check(glia::depthwise_conv2d{.kernel_size = 3, .padding = glia::same, .depth_multiplier = 2},
        image);
  check(glia::depthwise_conv2d{.kernel_size = 3, .dilation_rate = 2}, image);
  check(glia::separable_conv2d{.filters = 4, .kernel_size = 2, .padding = glia::same}, image);
  check(glia::sequential{glia::group_norm{.groups = 2}, glia::rms_norm{}}, image);
  check(glia::sequential{glia::upsample2d{}, glia::zero_pad2d{1}, glia::crop2d{2}}, image);
  check(glia::parallel{glia::join::multiply{}, glia::conv2d{.filters = 3, .kernel_size = 1},
                       glia::sequential{glia::conv2d{.filters = 3, .kernel_size = 1}, glia::relu}},
        image);
  const glia::shared tower{"tower", glia::dense{3, glia::tanh}};
  check(
      glia::sequential{
          glia::inputs{glia::input{"left", {2}, tower}, glia::input{"right", {2}, tower}},
          glia::outputs{glia::output{"sum", glia::dense{1}}, glia::output{"kind", glia::dense{3}}}},
      {4});
}

std::vector<float> samples_for(const glia::shape& sample) {
  std::vector<float> values = glia::testing::test_values(glia::batch_of(9, sample), 1);
  std::fill_n(values.begin() + 2, sample.back() * 2, 0.0F);  // where steps are masked
  return values;
}

}  // namespace

TEST_CASE("layers of sequences, images and branches replay from a recording, bit for bit") {
  for_each_layer([](const auto& layer, const glia::shape& sample) {
    INFO(glia::text(layer));
    const std::vector<float> values = samples_for(sample);
    const auto check = [&](const auto& device) {
      const glia::model net{layer, sample, device, {.seed = 2}};
      auto once = net;
      auto replayed = net;
      const test::recorded_pass recorded(net, 9, {.cut = false});
      for (const std::uint32_t step : {0U, 1U}) {
        const glia::step_key key{5, step};
        CHECK(recorded(replayed, values, key) == test::pass_at_once(once, values, key));
      }
    };
    check(glia::reference<float>());
    check(glia::cpu<float>({.threads = 2}));
  });
}

TEST_CASE("layers of sequences, images and branches are counted without a number") {
  for_each_layer([](const auto& layer, const glia::shape& sample) {
    INFO(glia::text(layer));
    const test::cost device;
    glia::model net{layer, sample, device};
    const double flops = device.totals().flops;
    (void)test::pass_at_once(net, samples_for(sample), glia::step_key{5, 0});
    CHECK(device.totals().flops > flops);
  });
}
