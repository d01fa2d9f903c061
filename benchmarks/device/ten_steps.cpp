// Trains a network for ten steps and prints one JSON line: the losses, and a few elements of each
// parameter at the end. Results of two devices differ by rounding errors only; --double computes
// reference results on the cpu in double.

#include <algorithm>
#include <cmath>
#include <glia/models/zoo/xception.hpp>
#include <map>
#include <xtensor/xadapt.hpp>

#include "../../examples/flowers/network.hpp"
#include "../report.hpp"

namespace {

constexpr std::size_t steps = 10;

struct settings : report::settings {
  bool in_double = false;  ///< on the cpu
};

/// Normally distributed inputs, and classes that are not all as frequent.
[[nodiscard]] glia::labeled_arrays noise(std::size_t samples, const glia::shape& sample,
                                         std::size_t classes) {
  const glia::shape inputs = glia::batch_of(samples, sample);
  const std::vector<float> numbers = report::normal_numbers(inputs.size(), 3);
  const xt::xarray<float> x =
      xt::adapt(numbers, std::vector<std::size_t>(inputs.begin(), inputs.end()));
  xt::xarray<std::int32_t> y = xt::zeros<std::int32_t>({samples});
  for (std::size_t i = 0; i < samples; ++i) {
    y(i) = i % 2 == 0 ? 0 : static_cast<std::int32_t>(i % classes);
  }
  return {x, y};
}

[[nodiscard]] glia::image_bytes digits(const settings& s, std::size_t samples,
                                       const glia::shape& sample) {
  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(samples);
  return std::move(sets.train).reshaped(sample);
}

/// The largest element by size, and up to 16 others at even distances.
[[nodiscard]] nlohmann::json excerpt(const std::vector<float>& values) {
  constexpr std::size_t count = 16;
  float largest = 0;
  for (const float v : values) {
    largest = std::max(largest, std::abs(v));
  }
  std::vector<float> elements;
  const std::size_t stride = 1 + (values.size() - 1) / count;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    elements.push_back(values[i]);
  }
  return {{"largest", largest}, {"values", elements}};
}

void print_steps(const settings& s, const auto& network, const glia::shape& sample,
                 const auto& data) {
  const glia::device device = s.in_double
                                  ? glia::device(glia::cpu<double>({.threads = s.device.threads}))
                                  : make_device(s.device);
  glia::model net{network, sample, device, {.seed = s.seed}};
  glia::trainer trainer{net,
                        glia::softmax_cross_entropy{},
                        glia::sgd{.learning_rate = 1e-3, .momentum = 0.9},
                        {.seed = s.seed}};
  std::vector<double> losses;
  const auto note_loss = [&](const glia::training& t) { losses.push_back(t.loss()); };
  const double seconds = report::seconds_of([&] {
    trainer.fit(data, {.batch_size = data.size() / steps,
                       .progress = nullptr,
                       .callbacks = {glia::on_event(glia::event::train_batch_end, note_loss)}});
  });
  nlohmann::json parameters;
  for (const auto& p : net.parameters()) {
    std::vector<float> values(p.value.shape().size());
    device.to_host(p.value, std::span<float>(values));
    parameters[p.spec.name] = excerpt(values);
  }
  report::print({{"losses", losses}, {"parameters", parameters}, {"seconds", seconds}});
}

}  // namespace

int main(int argc, char** argv) try {
  const std::map<std::string, void (*)(const settings&)> networks{
      {"mnist_mlp",
       [](const settings& s) { print_steps(s, perceptron(), {784}, digits(s, 1000, {784})); }},
      {"mnist_cnn",
       [](const settings& s) {
         print_steps(s, convolutional_network(), {28, 28, 1}, digits(s, 1000, {28, 28, 1}));
       }},
      {"flowers",
       [](const settings& s) {
         const glia::shape photo{96, 96, 3};
         print_steps(s, flowers_network(glia::mobilenet_v2(), 0, 5), photo, noise(160, photo, 5));
       }},
      {"gru",
       [](const settings& s) {
         const glia::shape sequence{25, 256};
         print_steps(s, glia::sequential{glia::gru{.units = 128}, glia::dense{10}}, sequence,
                     noise(320, sequence, 10));
       }},
      {"xception", [](const settings& s) {
         const glia::shape photo{128, 128, 3};
         print_steps(s, glia::xception({.classes = 10}), photo, noise(80, photo, 10));
       }}};
  settings s;
  s.device.full_precision = true;
  std::string name;
  CLI::App app{"Takes ten steps of a network"};
  report::add_flags(app, s);
  app.add_option("--network", name)->required()->check(CLI::IsMember(&networks));
  app.add_flag("--double", s.in_double, "on the cpu, in double");
  CLI11_PARSE(app, argc, argv);
  networks.at(name)(s);
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
