// MobileNetV2's features as benchmarks/run compares them: random images and weights, in batches.

#include <glia/models/zoo/mobilenet_v2.hpp>

#include "report.hpp"

int main(int argc, char** argv) try {
  report::settings s{.batch = 32, .images = 256};
  CLI::App app{"Computes MobileNetV2's features"};
  report::add_flags(app, s);
  CLI11_PARSE(app, argc, argv);

  const glia::device device = make_device(s.device);
  const glia::model net{glia::mobilenet_v2(), {224, 224, 3}, device, {.seed = s.seed}};
  std::vector<float> images(s.batch * net.sample_shape().size());
  glia::random_stream random({.seed = s.seed});
  std::generate(images.begin(), images.end(), [&] { return static_cast<float>(random.normal()); });
  std::vector<float> features(s.batch * net.output_shape().size());
  const std::size_t passes = s.images / s.batch;
  for (std::size_t epoch = 1; epoch <= s.epochs; ++epoch) {
    const double seconds = report::seconds_of([&] {
      for (std::size_t pass = 0; pass < passes; ++pass) {
        net.predict_batch(images, features);
      }
    });
    report::print({{"epoch", epoch}, {"seconds", seconds}, {"images", passes * s.batch}});
  }
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
