// The MNIST convolutional network as benchmarks/run compares it.

#include "report.hpp"

int main(int argc, char** argv) try {
  report::settings s{.batch = 1024};
  bool depth_first = true;
  CLI::App app{"Trains the MNIST convolutional network"};
  report::add_flags(app, s);
  app.add_option("--depth-first", depth_first);
  CLI11_PARSE(app, argc, argv);

  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  const auto train = std::move(sets.train).reshaped({28, 28, 1});
  const auto test = std::move(sets.test).reshaped({28, 28, 1});
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{
        .filters = filters, .kernel = 2, .padding = glia::same, .activation = glia::relu};
  };
  glia::model net{
      glia::sequential{convolution(64), glia::max_pool2d{}, glia::dropout{0.3}, convolution(32),
                       glia::max_pool2d{}, glia::dropout{0.3}, glia::flatten{},
                       glia::dense{256, glia::relu}, glia::dropout{0.5}, glia::dense{10}},
      {28, 28, 1},
      glia::cpu<>({.threads = s.threads}),
      {.seed = s.seed, .depth_first = depth_first}};
  report::train(net, train, test, s);
  report::predict(net, test, 256);
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
