// Networks in ONNX files as benchmarks/run compares them: writes the files, with random weights, or
// runs one of them on random samples.

#include <filesystem>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <glia/onnx.hpp>

#include "report.hpp"

namespace {

void write(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const auto write_network = [&](const std::string& name, const auto& layers,
                                 const glia::shape& sample) {
    glia::write_onnx(glia::model{layers, sample}, folder / (name + ".onnx"));
  };
  write_network("perceptron", perceptron(), {784});
  write_network("convolutional_network", convolutional_network(), {28, 28, 1});
  write_network("gru", glia::sequential{glia::gru{.units = 128}, glia::dense{14}}, {25, 256});
  write_network("mobilenet_v2", glia::sequential{glia::mobilenet_v2{}, glia::dense{5}},
                {224, 224, 3});
}

/// As many passes over one batch as take the time of so many images, and a line for each epoch.
void run(const report::settings& s, const std::filesystem::path& file) {
  const auto start = std::chrono::steady_clock::now();
  const glia::model net{glia::onnx_model{file}, glia::cpu<float>({.threads = s.device.threads})};
  const auto ready = net.prepare({.batch_size = s.batch});
  std::vector<float> x(s.batch * net.sample_shape().size());
  glia::random_stream random({.seed = s.seed});
  std::generate(x.begin(), x.end(), [&] { return static_cast<float>(random.uniform()); });
  std::vector<float> y(s.batch * net.output_shape().size());
  const auto pass = [&] { ready.run(std::span<const float>(x), std::span<float>(y)); };
  pass();
  report::print(
      {{"first_seconds",
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}});
  const std::size_t passes = std::max<std::size_t>(1, s.images / s.batch);
  for (std::size_t epoch = 1; epoch <= s.epochs; ++epoch) {
    std::vector<double> times;
    for (std::size_t i = 0; i < passes; ++i) {
      times.push_back(report::seconds_of(pass));
    }
    report::print({{"epoch", epoch},
                   {"seconds", report::quantile(times, 0.5) * static_cast<double>(passes)},
                   {"images", passes * s.batch}});
  }
}

}  // namespace

int main(int argc, char** argv) try {
  report::settings s;
  std::filesystem::path file;
  std::filesystem::path folder;
  CLI::App app{"Runs the network of an ONNX file"};
  report::add_flags(app, s);
  app.add_option("--file", file, "the network");
  app.add_option("--write", folder, "writes the networks that are compared to this folder");
  CLI11_PARSE(app, argc, argv);
  folder.empty() ? run(s, file) : write(folder);
  return 0;
} catch (const std::exception& e) {
  std::cerr << "onnx_report: " << e.what() << '\n';
  return 1;
}
