// Trains the network of the page on MNIST, and writes the files that examples/web/build puts beside
// the page and that tests/run_web compares with.
//
//     train MNIST FOLDER
//     train MNIST            only measures times

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <glia/compression/gzip.hpp>
#include <iostream>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "digit_reader.hpp"

namespace {

constexpr std::size_t sample_count = 600;  // of which the page trains with the first 400
constexpr std::size_t batch_size = 32;

template <class T>
void write(const std::filesystem::path& path, const std::vector<T>& values) {
  std::ofstream file(path, std::ios::binary);
  const auto bytes = std::as_bytes(std::span(values));
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) {
    throw std::runtime_error(path.string() + ": cannot be written");
  }
}

glia::batch first_samples(const glia::dataset_view& data, std::size_t count) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0U);
  glia::batch result;
  data.gather(numbers, result);
  return result;
}

// The fastest tenth was not interrupted by other programs.
template <class Call>
double milliseconds(std::size_t count, const Call& call) {
  std::vector<double> times;
  for (std::size_t i = 0; i < count; ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
            .count());
  }
  std::sort(times.begin(), times.end());
  return times[count / 10];
}

glia::device device_of(glia::cpu_loops::isa level) {
  return glia::cpu<float>({.threads = 1, .isa = level});
}

float train_step(digit_reader& reader, const glia::batch& digits, std::size_t step) {
  return reader.train(
      std::span(digits.inputs)
          .subspan(step * batch_size * digit_reader::pixels, batch_size * digit_reader::pixels),
      std::span(digits.labels).subspan(step * batch_size, batch_size));
}

void measure(const char* name, glia::cpu_loops::isa level, const glia::batch& digits) {
  digit_reader reader(device_of(level));
  std::vector<float> probabilities(digit_reader::classes);
  const auto image = std::span(digits.inputs).first(digit_reader::pixels);
  const double prediction = milliseconds(2000, [&] { reader.predict(image, probabilities); });
  const double step = milliseconds(200, [&] { train_step(reader, digits, 0); });
  std::cout << name << ": " << prediction << " ms per prediction, " << step << " ms per step of "
            << batch_size << " digits\n";
}

void run(const std::filesystem::path& mnist, const std::filesystem::path& folder) {
  auto sets = glia::load_mnist(mnist, glia::gzip_files{});
  const auto train = std::move(sets.train).reshaped({28, 28, 1});
  const auto test = std::move(sets.test).reshaped({28, 28, 1});
  const glia::batch digits = first_samples(test, test.size());
  if (folder.empty()) {
    measure("native, instructions of every processor", glia::cpu_loops::isa::baseline, digits);
    measure("native, best instructions", glia::cpu_loops::best_isa(), digits);
    return;
  }
  const auto network_file = folder / "network.safetensors";
  {
    digit_reader reader;
    glia::trainer trainer{reader.net(), glia::softmax_cross_entropy{}, glia::adam{1e-3}};
    trainer.fit(train, test, {.epochs = 4, .batch_size = 100});
    glia::save(reader.net(), network_file);
  }

  std::vector<std::uint8_t> images(digits.inputs.size());
  std::transform(digits.inputs.begin(), digits.inputs.end(), images.begin(),
                 [](float pixel) { return static_cast<std::uint8_t>(std::lround(255 * pixel)); });
  std::vector<std::uint8_t> labels(digits.labels.begin(), digits.labels.end());
  write(folder / "test_images.bin", images);
  write(folder / "test_labels.bin", labels);
  images.resize(sample_count * digit_reader::pixels);
  labels.resize(sample_count);
  labels.insert(labels.end(), images.begin(), images.end());
  write(folder / "samples.bin", labels);

  // The loops that every processor has compute the same in WebAssembly.
  digit_reader reader(device_of(glia::cpu_loops::isa::baseline));
  glia::load(reader.net(), network_file);
  std::vector<float> expected(digit_reader::classes * digits.size);
  reader.predict(digits.inputs, expected);
  for (std::size_t step = 0; step < 10; ++step) {
    expected.push_back(train_step(reader, digits, step));
  }
  write(folder / "expected.bin", expected);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2 && argc != 3) {
      throw std::runtime_error("expected MNIST's folder and a folder for the files");
    }
    run(argv[1], argc == 3 ? argv[2] : "");
  } catch (const std::exception& error) {
    std::cerr << "train: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
