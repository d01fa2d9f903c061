// The MNIST convolutional network as benchmarks/run compares it.

#include "report.hpp"

namespace {

template <glia::backend B>
void run(const report::settings& s, bool depth_first, const B& device) {
  auto sets = glia::load_mnist(s.data, glia::gzip_files{});
  sets.train.keep_first(s.images);
  // Where a part of the images is enough for an epoch, so it is for a test.
  sets.test.keep_first(std::min<std::size_t>(s.images, 10000));
  const auto train = std::move(sets.train).reshaped({28, 28, 1});
  const auto test = std::move(sets.test).reshaped({28, 28, 1});
  const auto convolution = [](std::size_t filters) {
    return glia::conv2d{
        .filters = filters, .kernel = 2, .padding = glia::same, .activation = glia::relu};
  };
  glia::model net{glia::sequential{convolution(64), glia::max_pool2d{}, glia::dropout{0.3},  //
                                   convolution(32), glia::max_pool2d{}, glia::dropout{0.3},  //
                                   glia::flatten{}, glia::dense{256, glia::relu},
                                   glia::dropout{0.5}, glia::dense{10}},
                  {28, 28, 1},
                  device,
                  {.seed = s.seed, .depth_first = depth_first}};
  report::train(net, train, test, s);
  report::predict(net, test, s.images < 60000 ? 100 : 1000);
}

}  // namespace

int main(int argc, char** argv) try {
  report::settings s{.batch = 1024};
  bool depth_first = true;
  std::string backend = "cpu";
  CLI::App app{"Trains the MNIST convolutional network"};
  report::add_flags(app, s);
  app.add_option("--depth-first", depth_first);
  app.add_option("--backend", backend)->check(CLI::IsMember({"cpu", "reference"}));
  CLI11_PARSE(app, argc, argv);
  backend == "cpu" ? run(s, depth_first, glia::cpu<>({.threads = s.threads}))
                   : run(s, depth_first, glia::reference<>());
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
