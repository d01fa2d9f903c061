// The MNIST convolutional network as benchmarks/run compares it.

#include "report.hpp"

namespace {

void run(const report::settings& s, bool depth_first, const glia::device& device) {
  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  // Where a part of the images is enough for an epoch, so it is for a test.
  sets.test.keep_first(std::min<std::size_t>(s.images, 10000));
  const auto train = std::move(sets.train).reshaped({28, 28, 1});
  const auto test = std::move(sets.test).reshaped({28, 28, 1});
  glia::model net{
      convolutional_network(), {28, 28, 1}, device, {.seed = s.seed, .depth_first = depth_first}};
  report::train(net, train, test, s);
  report::predict(net, test, s.images < 60000 ? 100 : 1000);
}

}  // namespace

int main(int argc, char** argv) try {
  report::settings s{.batch = 1024};
  bool depth_first = true;
  CLI::App app{"Trains the MNIST convolutional network"};
  report::add_flags(app, s);
  app.add_option("--depth-first", depth_first);
  CLI11_PARSE(app, argc, argv);
  run(s, depth_first, make_device(s.device));
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
