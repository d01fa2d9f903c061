// What integers of 8 bits are worth: trains MNIST's two networks and, on photos of flowers, a layer
// behind MobileNetV2, calibrates each on some of the training data, and prints as a table how fast
// each is in both, in turns, and how many samples of the test data each gets right.
//
//     build/benchmarks/quantization_report --data MNIST --flowers PHOTOS --weights MobileNetV2

#include <filesystem>
#include <glia/core/processor_name.hpp>
#include <glia/image.hpp>
#include <glia/io/parameters.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/calibrate.hpp>
#include <glia/models/zoo/mobilenet_v2_names.hpp>
#include <glia/training/frozen_outputs.hpp>
#include <iomanip>

#include "report.hpp"

namespace {

/// Samples and classes of a data set that fill batches of this size.
struct test_data {
  std::vector<float> inputs;
  std::vector<std::int32_t> classes;
};
template <class D>
test_data all_of(const D& data, std::size_t batch) {
  const std::size_t size = data.input_shape().size();
  const std::size_t count = data.size() / batch * batch;
  test_data result{std::vector<float>(count * size), std::vector<std::int32_t>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    data.input(i, std::span(result.inputs).subspan(i * size, size));
    result.classes[i] = data.label(i);
  }
  return result;
}

template <class Prepared>
double accuracy(const Prepared& ready, const test_data& test, std::size_t batch,
                std::size_t classes) {
  const std::size_t size = test.inputs.size() / test.classes.size();
  std::vector<float> y(batch * classes);
  std::size_t right = 0;
  for (std::size_t first = 0; first < test.classes.size(); first += batch) {
    ready.run(std::span(test.inputs).subspan(first * size, batch * size), std::span<float>(y));
    for (std::size_t i = 0; i < batch; ++i) {
      const auto row = y.begin() + static_cast<std::ptrdiff_t>(i * classes);
      right += std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row ==
                       test.classes[first + i]
                   ? 1
                   : 0;
    }
  }
  return static_cast<double>(right) / static_cast<double>(test.classes.size());
}

template <class Model, class Train, class Test>
void compare(const std::string& name, const Model& net, const Train& train, const Test& test,
             const std::vector<std::size_t>& batches) {
  const glia::quantization quantization = glia::calibrate(net, train);
  const std::size_t classes = net.output_shape().size();
  for (const std::size_t batch : batches) {
    const test_data samples = all_of(test, batch);
    const auto real = net.prepare({.batch_size = batch});
    const auto bytes = net.prepare(quantization, {.batch_size = batch});
    const std::span<const float> x =
        std::span(samples.inputs).first(batch * net.sample_shape().size());
    std::vector<float> y(batch * classes);
    std::vector<double> real_times;
    std::vector<double> byte_times;
    const auto take_turn = [&](const auto& ready, std::vector<double>& times) {
      ready.run(x, std::span<float>(y));  // whatever the other has left in caches
      double sum = 0;
      for (std::size_t i = 0; i < 3 || sum < 0.05; ++i) {  // seconds
        times.push_back(report::seconds_of([&] { ready.run(x, std::span<float>(y)); }));
        sum += times.back();
      }
    };
    for (int turn = 0; turn < 21; ++turn) {
      take_turn(real, real_times);
      take_turn(bytes, byte_times);
    }
    const double a = report::quantile(real_times, 0.5);
    const double b = report::quantile(byte_times, 0.5);
    std::cout << "| " << name << " | " << batch << " | " << std::fixed << std::setprecision(3)
              << 1e3 * a << " ms | " << 1e3 * b << " ms | **" << std::setprecision(2) << a / b
              << "** | " << quantization.products.size() << " of "
              << quantization.products.size() + quantization.left_in_float << " | "
              << 100 * accuracy(real, samples, batch, classes) << " % | "
              << 100 * accuracy(bytes, samples, batch, classes) << " % |" << std::endl;
  }
}

template <class Network>
void mnist(const std::string& name, const Network& network, const glia::shape& sample,
           const report::settings& s) {
  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  const auto train = std::move(sets.train).reshaped(sample);
  const auto test = std::move(sets.test).reshaped(sample);
  glia::model net{
      network, sample, glia::cpu<float>({.threads = s.device.threads}), {.seed = s.seed}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{1e-3}};
  trainer.fit(train, {.epochs = s.epochs, .batch_size = s.batch, .progress = nullptr});
  compare(name, net, train, test, {1, 250});
}

void flowers(const std::filesystem::path& photos, const std::filesystem::path& weights,
             const report::settings& s) {
  const glia::image_folder folder(
      photos,
      {.class_names = {"daisy", "dandelion", "rose", "sunflower", "tulip"}, .skip_broken = true});
  const auto [training, held_out] = folder.split(0.2);
  const glia::image_dataset_options options{
      .height = 224, .width = 224, .mean = glia::imagenet_mean, .std = glia::imagenet_std};
  const glia::image_dataset train(training, options);
  const glia::image_dataset test(held_out, options);
  const glia::mobilenet_v2 features({.use_batch_norm = false});
  glia::model net{glia::sequential{glia::frozen{features}, glia::dropout{0.4}, glia::dense{5}},
                  train.input_shape(),
                  glia::cpu<float>({.threads = s.device.threads}),
                  {.seed = s.seed}};
  glia::load_parameters(net, glia::read_safetensors(weights), glia::folded_names(features));
  const auto outputs = glia::compute_frozen_outputs(net, train, "training", {}, nullptr);
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{1e-3}};
  trainer.fit(outputs.value(), {.epochs = 12, .batch_size = 32, .progress = nullptr});
  compare("MobileNetV2 at 224x224, flowers", net, train, test, {1, 32});
}

}  // namespace

int main(int argc, char** argv) try {
  report::settings s;
  std::filesystem::path photos;
  std::filesystem::path weights;
  CLI::App app{"Networks with 8-bit integers compared with single precision"};
  report::add_flags(app, s);
  app.add_option("--flowers", photos, "folder of photos in folders of their classes");
  app.add_option("--weights", weights, "MobileNetV2's, as safetensors");
  CLI11_PARSE(app, argc, argv);
  std::cout << "# Networks with 8-bit integers compared with single precision, " << s.device.threads
            << " threads, medians in turns\n\n"
            << glia::processor_name() << "\n\n"
            << "| network | samples at a time | float | int8 | times as fast | products in int8 | "
               "accuracy in float | in int8 |\n"
               "| --- | --- | --- | --- | --- | --- | --- | --- |"
            << std::endl;
  mnist("MNIST's perceptron, 784-400-400-500-10", perceptron(), {784}, s);
  mnist("MNIST's convolutional network", convolutional_network(), {28, 28, 1}, s);
  if (!photos.empty()) {
    flowers(photos, weights, s);
  }
  return 0;
} catch (const glia::error& e) {
  std::cerr << "quantization_report: " << e.what() << '\n';
  return 1;
}
