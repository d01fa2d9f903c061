// Recurrent layers and large networks as benchmarks/run compares them: random inputs and weights.
// Training steps with Adam of a recurrent layer, of Xception, of a small GPT or of a U-Net,
// features of ResNet152V2, tokens that the GPT writes.

#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
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

void train_steps(const report::settings& s, const auto& layers, const glia::shape& sample,
                 const glia::batch& b) {
  const glia::device device = make_device(s.device);
  glia::model net{layers, sample, device, {.seed = s.seed}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
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
