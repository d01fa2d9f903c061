// The MNIST perceptron as benchmarks/run compares it.

#include "report.hpp"

int main(int argc, char** argv) try {
  report::settings s;
  CLI::App app{"Trains the MNIST perceptron"};
  report::add_flags(app, s);
  CLI11_PARSE(app, argc, argv);

  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  const auto train = std::move(sets.train).reshaped({784});
  const auto test = std::move(sets.test).reshaped({784});
  glia::model net{perceptron(), {784}, make_device(s.device), {.seed = s.seed}};
  report::train(net, train, test, s);
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
