// Recurrent layers and large networks as benchmarks/run compares them: random inputs and weights.
// Training steps with Adam of a recurrent layer or of Xception, features of ResNet152V2.

#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/xception.hpp>
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
                 std::size_t classes) {
  const glia::device device = make_device(s.device);
  glia::model net{layers, sample, device, {.seed = s.seed}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  glia::batch b;
  b.size = s.batch;
  b.input_shape = glia::batch_of(s.batch, sample);
  b.inputs = report::normal_numbers(b.input_shape.size(), s.seed);
  for (std::size_t i = 0; i < s.batch; ++i) {
    b.labels.push_back(static_cast<std::int32_t>(i % classes));
  }
  print_passes(s, [&](bool last) {
    glia::running_scores sums(net.device(), {});
    trainer.step(b, &sums);
    if (last) {
      (void)sums.loss();  // which waits for it
    }
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
  train_steps(s, glia::sequential{Layer{.units = 128}, glia::dense{classes}}, {25, 256}, classes);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)(const report::settings&)> networks{
      {"gru", &train_recurrent<glia::gru>},
      {"lstm", &train_recurrent<glia::lstm>},
      {"xception",
       [](const report::settings& s) {
         train_steps(s, glia::xception({.classes = 1000}), {331, 331, 3}, 1000);
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
