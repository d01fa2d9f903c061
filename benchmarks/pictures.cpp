// Draws the pictures of the README: how MNIST's convolutional network learns, and how long an epoch
// of the perceptron takes beside other libraries, from a table in benchmarks/results.
//
//     build/benchmarks/pictures docs/pictures benchmarks/results/mnist_mlp-avx512.md

#include <filesystem>
#include <fstream>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/plot.hpp>
#include <iostream>
#include <regex>

#include "../examples/mnist_networks.hpp"

struct contestant {
  std::string name;
  double seconds;
};

/// The rows of a table whose second column is a time in seconds.
std::vector<contestant> read_table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<contestant> contestants;
  static const std::regex row(R"(\| ([^|]+) \| ([0-9.]+) s \|.*)");
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, found, row)) {
      contestants.push_back({found[1], std::stod(found[2])});
    }
  }
  glia::require<glia::data_error>(!contestants.empty(), path.string(),
                                  ": no table of times in seconds");
  return contestants;
}

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: pictures FOLDER TABLE\n";
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  std::filesystem::create_directories(folder);

  const std::vector<contestant> contestants = read_table(argv[2]);
  glia::plot::bar_series times;
  std::vector<std::string> names;
  std::string note;
  for (const contestant& c : contestants) {
    // Names have to be short: without what stands in brackets.
    const std::string name =
        std::regex_replace(c.name, std::regex(R"( *\([^)]*\)|\+cu[0-9]+)"), "");
    constexpr double off_the_chart = 10;  // times of the first one's: the others would be flat
    if (c.seconds > off_the_chart * contestants[0].seconds) {
      note += glia::text(note.empty() ? "not drawn: " : ", ", name, ", ", c.seconds, " s");
    } else {
      names.push_back(name);
      times.values.push_back(c.seconds);
    }
  }
  glia::plot::bars(folder / "perceptron.svg", names, {times},
                   {.title = "MNIST's perceptron: an epoch of 60,000 digits",
                    .y_label = "seconds",
                    .note = note,
                    .unit = " s",
                    .highlight = 0,
                    .canvas = {.width = 760, .height = 380}});

  const auto [train, test] = glia::load_mnist("examples/data/mnist", glia::gzip_files{});
  glia::model net{glia::sequential{glia::reshape{{28, 28, 1}}, convolutional_network()}, {28, 28}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
  const glia::history h = trainer.fit(train, test, {.epochs = 10, .batch_size = 128});
  glia::plot::history(
      folder / "training.svg", h,
      {.title = "MNIST's convolutional network", .panel = {.width = 440, .height = 320}});
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
