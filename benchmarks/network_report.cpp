// Recurrent layers and large networks as benchmarks/run compares them: random inputs and weights.
// Training steps with Adam of a recurrent layer, of a transformer block, of Xception, of ResNet-50,
// of a small GPT or of a U-Net, features of ResNet152V2, outputs of ResNet-50 and of the
// transformer block, tokens that the GPT writes.

#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <glia/models/zoo/resnet.hpp>
#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/u_net.hpp>
#include <glia/models/zoo/xception.hpp>
#include <glia/text.hpp>
#include <map>

#include "report.hpp"

namespace {

/// A line for each epoch of passes over one batch.
void print_passes(const report::settings& s, const auto& pass) {
  const std::size_t passes = std::max<std::size_t>(1, s.images / s.batch);
  for (std::size_t epoch = 1; epoch <= s.epochs; ++epoch) {
    const double seconds = report::seconds_of([&] {
      for (std::size_t i = 0; i < passes; ++i) {
        pass(i + 1 == passes);
      }
    });
    report::print({{"epoch", epoch}, {"seconds", seconds}, {"images", passes * s.batch}});
  }
}

template <class Loss = glia::softmax_cross_entropy>
void train_steps(const report::settings& s, const auto& layers, const glia::shape& sample,
                 const glia::batch& b, const Loss& loss = {}) {
  const glia::device device = make_device(s.device);
  glia::model net{layers, sample, device, {.seed = s.seed}};
  glia::trainer trainer{net, loss, glia::adam{}};
  print_passes(s, [&](bool last) {
    glia::running_scores sums(net.device(), {});
    trainer.step(b, &sums);
    if (last) {
      (void)sums.loss();  // which waits for it
    }
  });
}

/// Normal numbers as samples.
glia::batch samples_of(const report::settings& s, const glia::shape& sample) {
  glia::batch b;
  b.size = s.batch;
  b.input_shape = glia::batch_of(s.batch, sample);
  b.inputs = report::normal_numbers(b.input_shape.size(), s.seed);
  return b;
}

/// Classes 0, 1, 2 ... as targets of a shape.
std::vector<float> classes_of(const glia::shape& s, std::size_t classes) {
  std::vector<float> numbers(s.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i % classes);
  }
  return numbers;
}

void train_classes(const report::settings& s, const auto& layers, const glia::shape& sample,
                   std::size_t classes) {
  glia::batch b = samples_of(s, sample);
  for (std::size_t i = 0; i < s.batch; ++i) {
    b.labels.push_back(static_cast<std::int32_t>(i % classes));
  }
  train_steps(s, layers, sample, b);
}

constexpr std::size_t gpt_steps = 256;
constexpr std::size_t gpt_tokens = 65;

glia::gpt small_gpt() {
  return {.vocabulary_size = gpt_tokens,
          .sequence_length = gpt_steps,
          .num_layers = 4,
          .num_heads = 4,
          .embedding_dim = 128};
}

void train_gpt(const report::settings& s) {
  glia::batch b;
  b.size = s.batch;
  b.input_shape = b.target_shape = {s.batch, gpt_steps};
  b.inputs = b.targets = classes_of(b.input_shape, gpt_tokens);
  train_steps(s, small_gpt(), {gpt_steps}, b);
}

constexpr std::size_t block_width = 256;
const glia::shape block_sample{128, block_width};

/// A block of a transformer's encoder, with the normalization before each part.
auto transformer_block() {
  const glia::layer_norm norm{.epsilon = 1e-5};
  return glia::sequential{
      glia::residual{glia::sequential{
          norm, glia::multi_head_attention{.num_heads = 8, .key_dim = block_width / 8}}},
      glia::residual{glia::sequential{
          norm, glia::time_distributed{glia::sequential{
                    glia::dense{.units = 4 * block_width, .activation = glia::gelu},
                    glia::dense{block_width}}}}}};
}

void train_transformer(const report::settings& s) {
  glia::batch b = samples_of(s, block_sample);
  b.target_shape = b.input_shape;
  b.targets.assign(b.target_shape.size(), 0.0F);
  train_steps(s, transformer_block(), block_sample, b, glia::mean_squared_error{});
}

void train_u_net(const report::settings& s) {
  const glia::u_net network{.classes = 4, .filters = 16, .depth = 3, .use_batch_norm = true};
  const glia::shape sample{128, 128, 3};
  glia::batch b = samples_of(s, sample);
  b.target_shape = {s.batch, 128, 128};
  b.targets = classes_of(b.target_shape, network.classes);
  train_steps(s, network, sample, b);
}

/// A pass is one token: a step of the stream, and the draw of the next token.
void write_gpt(const report::settings& s) {
  const glia::model net{small_gpt(), {gpt_steps}, make_device(s.device), {.seed = s.seed}};
  const glia::stream step{net};
  glia::stream_state state = step.start();
  glia::random_stream random({.seed = s.seed});
  std::vector<float> logits(gpt_tokens);
  float token = 0;
  print_passes(s, [&](bool) {
    if (state.steps == step.max_steps()) {
      state = step.start();
    }
    step.run(std::span<const float>(&token, 1), std::span<float>(logits), state);
    token = static_cast<float>(glia::sample_token(logits, {}, random));
  });
}

void compute_features(const report::settings& s, const auto& layers, const glia::shape& sample) {
  const glia::device device = make_device(s.device);
  const glia::model net{layers, sample, device, {.seed = s.seed}};
  const std::vector<float> images = report::normal_numbers(s.batch * sample.size(), s.seed);
  std::vector<float> features(s.batch * net.output_shape().size());
  print_passes(s, [&](bool) { net.predict_batch(images, features); });
}

/// Steps on one batch of random numbers with the mean squared error, of a network so small that the
/// time between its products counts.
void train_small(const report::settings& s, const auto& layers, const glia::shape& sample,
                 const auto& optimizer) {
  glia::model net{layers, sample, make_device(s.device), {.seed = s.seed}};
  glia::batch b = samples_of(s, sample);
  b.target_shape = glia::batch_of(s.batch, net.output_shape());
  b.targets = report::normal_numbers(b.target_shape.size(), s.seed + 1);
  glia::trainer trainer{net, glia::mean_squared_error{}, optimizer};
  print_passes(s, [&](bool) { trainer.step(b); });
}

/// LeNet-5 on MNIST's digits.
void train_lenet(const report::settings& s) {
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{.filters = filters, .kernel_size = 5, .activation = glia::relu};
  };
  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  const glia::shape sample{28, 28, 1};
  const auto train = std::move(sets.train).reshaped(sample);
  const auto test = std::move(sets.test).reshaped(sample);
  glia::model net{
      glia::sequential{convolution(6), glia::max_pool2d{}, convolution(16), glia::max_pool2d{},
                       glia::flatten{}, glia::dense{120, glia::relu}, glia::dense{84, glia::relu},
                       glia::dense{10}},
      sample,
      make_device(s.device),
      {.seed = s.seed}};
  report::train(net, train, test, s);
}

/// One sample at a time through an LSTM, as in an audio effect.
void run_stream(const report::settings& s) {
  const glia::model net{glia::sequential{glia::lstm{.units = 20, .return_sequences = true},
                                         glia::time_distributed{glia::dense{1}}},
                        {1, 1},
                        make_device(s.device),
                        {.seed = s.seed}};
  const glia::stream effect{net};
  glia::stream_state state = effect.start();
  float sample = 0.5F;
  float output = 0;
  print_passes(s, [&](bool) {
    effect.run(std::span<const float>(&sample, 1), std::span<float>(&output, 1), state);
  });
}

template <class Layer>
void train_recurrent(const report::settings& s) {
  constexpr std::size_t classes = 10;
  train_classes(s, glia::sequential{Layer{.units = 128}, glia::dense{classes}}, {25, 256}, classes);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)(const report::settings&)> networks{
      {"gru", &train_recurrent<glia::gru>},
      {"lstm", &train_recurrent<glia::lstm>},
      {"xception",
       [](const report::settings& s) {
         train_classes(s, glia::xception({.classes = 1000}), {331, 331, 3}, 1000);
       }},
      {"gpt", &train_gpt},
      {"gpt_writing", &write_gpt},
      {"u_net", &train_u_net},
      {"lenet", &train_lenet},
      {"lstm_stream", &run_stream},
      {"gradient",
       [](const report::settings& s) {
         train_small(s, glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}}, {24},
                     glia::sgd{1e-3});
       }},
      {"exponential",
       [](const report::settings& s) {
         train_small(s,
                     glia::sequential{glia::dense{32, glia::tanh}, glia::dense{16, glia::tanh},
                                      glia::dense{4}},
                     {4}, glia::adam{});
       }},
      {"table",
       [](const report::settings& s) {
         train_classes(s,
                       glia::sequential{glia::dense{128, glia::relu}, glia::dense{128, glia::relu},
                                        glia::dense{7}},
                       {54}, 7);
       }},
      {"transformer", &train_transformer},
      {"transformer_forward",
       [](const report::settings& s) { compute_features(s, transformer_block(), block_sample); }},
      {"resnet50",
       [](const report::settings& s) {
         train_classes(s, glia::resnet50({.classes = 1000}, glia::zoo_form::torchvision),
                       {224, 224, 3}, 1000);
       }},
      {"resnet50_logits",
       [](const report::settings& s) {
         compute_features(s, glia::resnet50({.classes = 1000}, glia::zoo_form::torchvision),
                          {224, 224, 3});
       }},
      {"resnet152_v2", [](const report::settings& s) {
         compute_features(s, glia::resnet152_v2(), {224, 224, 3});
       }}};
  report::settings s{.batch = 32, .images = 320};
  std::string name;
  CLI::App app{"Times a network's training steps or features"};
  report::add_flags(app, s);
  app.add_option("--network", name)->required()->check(CLI::IsMember(&networks));
  CLI11_PARSE(app, argc, argv);
  networks.at(name)(s);
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
