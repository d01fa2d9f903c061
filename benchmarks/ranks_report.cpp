// Steps that ranks take together, as benchmarks/run scaling compares them: run by itself, it is
// one.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <glia/compression/gzip.hpp>
#include <glia/glia.hpp>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <glia/mpi.hpp>
#include <glia/training/frozen_outputs.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../examples/mnist_networks.hpp"

namespace {

struct settings {
  std::string network = "mlp";
  std::size_t batch = 100, steps = 100, threads = 2, epochs = 0, images = 60000;
  std::uint64_t seed = 1;
  std::string data = "examples/data/mnist";
  glia::distributed_options options;
  bool alone = false;
};

using clock = std::chrono::steady_clock;

double milliseconds_since(clock::time_point start) {
  return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Images of noise and of nothing, as digits are, with classes in turn; drawn beforehand, so that
/// no pass waits for them.
class drawn_images {
 public:
  drawn_images(const glia::shape& sample, std::size_t count)
      : sample_(sample), count_(count), values_(count * sample.size()) {
    for (std::size_t index = 0; index < values_.size(); ++index) {
      const double drawn =
          glia::detail::random_bits({}, static_cast<std::uint32_t>(index)) * 0x1p-32;
      values_[index] = drawn < 0.8 ? 0.0F : static_cast<float>(drawn);
    }
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] glia::shape input_shape() const { return sample_; }
  [[nodiscard]] static std::int32_t label(std::size_t i) {
    return static_cast<std::int32_t>(i % 10);
  }
  void input(std::size_t i, std::span<float> values) const {
    std::copy_n(values_.data() + i * values.size(), values.size(), values.data());
  }

 private:
  glia::shape sample_;
  std::size_t count_;
  std::vector<float> values_;
};

template <class Network>
nlohmann::json time_steps(const settings& s, const Network& network, const glia::shape& sample,
                          const glia::mpi::communicator& ranks, std::size_t threads) {
  glia::model net{network, sample, glia::cpu<float>({.threads = threads})};
  const glia::trainer_options options =
      s.alone ? glia::trainer_options{} : glia::distributed({}, ranks, s.options);
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}, options};
  const glia::index_range share = options.distribution.share().samples(s.batch);
  const drawn_images images{sample, s.batch};
  const glia::dataset_view data(images);
  std::vector<std::uint32_t> numbers(share.size());
  for (std::size_t i = 0; i < share.size(); ++i) {
    numbers[i] = static_cast<std::uint32_t>(share.first + i);
  }
  glia::batch b;
  data.gather(numbers, b);
  b.first = share.first;
  b.whole = s.batch;
  std::vector<double> steps;
  std::vector<double> sums;
  std::vector<double> waits;
  constexpr std::size_t warm_up = 5;
  for (std::size_t i = 0; i < s.steps + warm_up; ++i) {
    const auto start = clock::now();
    trainer.step(b);
    if (i >= warm_up) {
      steps.push_back(milliseconds_since(start));
      sums.push_back(1e3 * trainer.last_sum().seconds);
      waits.push_back(1e3 * trainer.last_sum().waited_seconds);
    }
  }
  // Who comes last to a sum waits for it alone, the others for that rank as well.
  for (const std::vector<double>& of_rank : glia::detail::gather_each(*ranks.ranks(), waits)) {
    std::transform(waits.begin(), waits.end(), of_rank.begin(), waits.begin(),
                   [](double left, double right) { return std::min(left, right); });
  }
  return {{"step_ms", median(steps)},
          {"sum_ms", median(sums)},
          {"waited_ms", median(waits)},
          {"bytes", trainer.last_sum().bytes},
          {"messages", trainer.last_sum().messages},
          {"parameters", net.parameter_count()}};
}

/// Trains on MNIST, and prints a line for each epoch.
template <class Network>
void train(const settings& s, const Network& network, const glia::shape& sample,
           const glia::mpi::communicator& ranks, std::size_t threads) {
  auto digits = glia::load_mnist(s.data, glia::gzip_files{}).train;
  digits.keep_first(s.images);
  const auto images = std::move(digits).reshaped(sample);
  glia::model net{network, sample, glia::cpu<float>({.threads = threads}), {.seed = s.seed}};
  const glia::trainer_options seeded{.seed = s.seed};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{},
                        s.alone ? seeded : glia::distributed(seeded, ranks, s.options)};
  const auto print = glia::on_event(glia::event::epoch_end, [&](const glia::training& t) {
    const glia::epoch_record& epoch = t.history.epochs.back();
    if (ranks.is_first()) {
      std::cout
          << nlohmann::json{{"epoch", epoch.epoch},
                            {"seconds", epoch.seconds},
                            {"images", images.size()},
                            {"loss", epoch.training.loss},
                            {"version", glia::text(GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.',
                                                   GLIA_VERSION_PATCH)},
                            {"peak_mb", static_cast<double>(glia::peak_resident_bytes()) / 1e6}}
          << std::endl;
    }
  });
  trainer.fit(images, {.epochs = s.epochs,
                       .batch_size = s.batch,
                       .metrics = std::vector<glia::metric>{},
                       .progress = nullptr,
                       .callbacks = {print}});
}

/// MobileNetV2's features of some photos, as a training with frozen layers computes them once.
nlohmann::json time_features(const settings& s, const glia::mpi::communicator& ranks,
                             std::size_t threads) {
  const glia::shape sample{224, 224, 3};
  glia::model net{glia::sequential{glia::frozen{glia::mobilenet_v2()}, glia::dense{5}}, sample,
                  glia::cpu<float>({.threads = threads})};
  const drawn_images photos{sample, s.batch};
  glia::frozen_output_options options{.batch_size = 32};
  options.ranks = s.alone ? nullptr : ranks.ranks().get();
  std::vector<double> passes;
  for (std::size_t i = 0; i < s.steps + 1; ++i) {
    const auto start = clock::now();
    (void)glia::compute_frozen_outputs(net, photos, "photos", options, nullptr);
    passes.push_back(milliseconds_since(start));
  }
  passes.erase(passes.begin());
  return {{"step_ms", median(passes)},
          {"bytes", 4 * net.frozen_output_shape()->size() * s.batch},
          {"parameters", net.parameter_count()}};
}

/// How long a message takes, and how many bytes a second pass, each rank to all others at once.
nlohmann::json time_messages(const glia::mpi::communicator& ranks) {
  glia::rank_group& group = *ranks.ranks();
  const auto time = [&](std::size_t bytes, std::size_t repeated) {
    std::vector<std::byte> memory(bytes * group.size());
    std::vector<double> times;
    for (std::size_t i = 0; i < repeated; ++i) {
      const auto start = clock::now();
      glia::gather_blocks(group, memory.data(), static_cast<int>(bytes));
      times.push_back(milliseconds_since(start) / 1e3);
    }
    return median(times);
  };
  constexpr std::size_t large = std::size_t{1} << 22;
  const double latency = time(8, 2000);
  const double peers = static_cast<double>(group.size() - 1);
  return {{"latency_us", 1e6 * latency},
          {"bytes_per_second", peers * large / (time(large, 30) - latency)}};
}

int run(const settings& s, const glia::mpi::communicator& ranks) {
  const std::size_t threads = std::max<std::size_t>(s.threads / ranks.size(), 1);
  if (s.epochs > 0) {
    s.network == "mlp" ? train(s, perceptron(), {784}, ranks, threads)
                       : train(s, convolutional_network(), {28, 28, 1}, ranks, threads);
    return 0;
  }
  nlohmann::json line;
  if (s.network == "messages") {
    line = time_messages(ranks);
  } else if (s.network == "mobilenet_v2") {
    line = time_features(s, ranks, threads);
  } else if (s.network == "mlp") {
    line = time_steps(s, perceptron(), {784}, ranks, threads);
  } else {
    line = time_steps(s, convolutional_network(), {28, 28, 1}, ranks, threads);
  }
  line["network"] = s.network;
  line["ranks"] = ranks.size();
  line["threads"] = threads;
  line["batch"] = s.batch;
  if (ranks.is_first()) {
    std::cout << line << std::endl;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app{"Times steps that ranks take together"};
  app.add_option("--network", s.network)
      ->check(CLI::IsMember({"mlp", "cnn", "mobilenet_v2", "messages"}));
  app.add_option("--batch", s.batch, "samples of all ranks together");
  app.add_option("--steps", s.steps);
  app.add_option("--threads", s.threads, "of all ranks together");
  app.add_option("--epochs", s.epochs, "trains on MNIST, in place of drawn images");
  app.add_option("--data", s.data);
  app.add_option("--images", s.images);
  app.add_option("--seed", s.seed);
  app.add_flag("--alone", s.alone, "as a program that knows of no ranks");
  app.add_flag("--reproducible", s.options.reproducible);
  app.add_option("--share-memory", s.options.share_memory);
  app.add_option("--overlap", s.options.overlap);
  app.add_flag("--bfloat16", s.options.bfloat16_gradients);
  CLI11_PARSE(app, argc, argv);
  return glia::mpi::run([&](const glia::mpi::communicator& ranks) { return run(s, ranks); });
}
