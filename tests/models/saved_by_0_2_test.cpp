#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/early_stopping.hpp>

#include <filesystem>

#include "catch.hpp"
#include "helpers.hpp"
#include "temporary_folder.hpp"

// Files that glia 0.2 wrote, by networks that it described with the names of that time.

namespace {

const std::filesystem::path files = GLIA_SAVED_BY_0_2;

/// Two samples of shape `sample`.
xt::xarray<float> samples(const glia::shape& sample) {
  const glia::shape batch = glia::batch_of(2, sample);
  xt::xarray<float> x(std::vector<std::size_t>(batch.begin(), batch.end()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<float>(i % 7) / 4 - 1;
  }
  return x;
}

template <class Layers>
void check_file(const Layers& layers, const glia::shape& sample, const char* name,
                const std::vector<float>& expected) {
  glia::model net{layers, sample};
  glia::load(net, files / name);
  const xt::xarray<float> y = net.predict(samples(sample));
  CHECK(test::distance(std::vector<float>(y.begin(), y.end()), expected) < 1e-5);
}

}  // namespace

TEST_CASE("models of images that 0.2 saved are loaded and predict the same") {
  const glia::sequential layers{
      glia::conv2d{
          .filters = 2, .kernel_size = 3, .strides = 2, .padding = glia::same, .use_bias = false},
      glia::batch_norm{},
      glia::silu,
      glia::residual{glia::conv2d{
          .filters = 2, .kernel_size = {1, 3}, .padding = glia::same, .dilation_rate = 2}},
      glia::separable_conv2d{
          .filters = 3, .kernel_size = 2, .depth_multiplier = 2, .activation = glia::relu},
      glia::depthwise_conv2d{.kernel_size = 2, .padding = glia::same},
      glia::max_pool2d{.pool_size = 2, .strides = 1},
      glia::avg_pool2d{.pool_size = 1},
      glia::conv2d_transpose{.filters = 2, .kernel_size = 2, .strides = 2},
      glia::upsample2d{2},
      glia::zero_pad2d{1},
      glia::crop2d{1},
      glia::flatten{},
      glia::gaussian_noise{0.1},
      glia::dense{.units = 3, .use_bias = false}};
  check_file(layers, {8, 8, 1}, "images.safetensors",
             {0.483611F, 0.006122F, -0.044262F, 0.23202F, -0.002005F, 0.001421F});
}

TEST_CASE("models of sequences that 0.2 saved are loaded and predict the same") {
  const glia::sequential layers{
      glia::masking{-1},
      glia::conv1d{.filters = 4, .kernel_size = 2, .padding = glia::causal, .dilation_rate = 2},
      glia::gru{.units = 3, .return_sequences = true, .go_backwards = true},
      glia::positional_encoding{},
      glia::multi_head_attention{
          .num_heads = 2, .key_dim = 2, .value_dim = 3, .use_causal_mask = true},
      glia::lstm{.units = 3, .return_sequences = true, .use_bias = false},
      glia::max_pool1d{.pool_size = 2},
      glia::time_distributed{glia::dense{2}},
      glia::simple_rnn{.units = 2},
      glia::reshape{{2}},
      glia::named{"head", glia::dense{2}}};
  check_file(layers, {6, 2}, "sequences.safetensors",
             {-0.441722F, 0.103636F, -0.419085F, 0.137499F});
}

TEST_CASE("a training that 0.2 interrupted is resumed") {
  const test::temporary_folder folder;
  std::filesystem::copy(files / "training", folder.path() / "training");
  const xt::xarray<float> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const xt::xarray<int> y{0, 1, 1, 0};
  glia::model net{glia::sequential{glia::dense{4, glia::tanh}, glia::dense{2}}, {2}};
  glia::trainer trainer{
      net, glia::softmax_cross_entropy{},
      glia::gradient_accumulation{
          glia::adam{.learning_rate = glia::exponential_decay(0.05, 100, 0.5, {.staircase = true})},
          2}};
  const glia::history h =
      trainer.fit(glia::labeled_arrays{x, y},
                  {.epochs = 4,
                   .batch_size = 2,
                   .progress = nullptr,
                   .callbacks = {glia::early_stopping{.monitor = "loss", .patience = 50},
                                 glia::checkpoints(folder.path() / "training")},
                   .resume = true});
  CHECK(h.epochs.size() == 4);
  CHECK(trainer.step_count() == 8);
}
