// A training on several ranks, for the tests in mpi/: what they start by mpirun, and break.
//
//     mpirun -n 2 glia_mpi_training FOLDER [NAME=VALUE...]
//
// network=mlp|cnn|normalized  reproducible=1  bfloat16=1  epochs=4  threads=1  resume=1
// throw=RANK   that rank's data throw in the second epoch
// leave=RANK   that rank ends before it trains
// data=RANK    that rank has other data
// buckets=RANK  that rank alone sends other numbers of bytes together
// full=RANK    that rank can write no more from step 10 on, as on a full disk
// pause=SECONDS  after each step
//
// Writes the trained model to FOLDER/model.safetensors and prints "trained"; returns 130 where it
// was interrupted.

#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <glia/mpi.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/csv_logger.hpp>
#include <glia/training/early_stopping.hpp>
#include <glia/training/terminate_on_nan.hpp>
#include <iostream>
#include <map>
#include <string>
#include <thread>

namespace {

/// Images of noise, of which one quarter is brighter.
struct bright_corners {
  static constexpr std::size_t side = 12;
  glia::shape sample;
  std::size_t count;
  float noise_size = 1;
  std::size_t throws_at = static_cast<std::size_t>(-1);

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] glia::shape input_shape() const { return sample; }
  [[nodiscard]] std::int32_t label(std::size_t i) const {
    return static_cast<std::int32_t>(i * 7 / 3 % 4);
  }
  void input(std::size_t i, std::span<float> values) const {
    if (i == throws_at) {
      throw glia::data_error("photo-" + std::to_string(i) + ".jpg: damaged");
    }
    const auto corner = static_cast<std::size_t>(label(i));
    for (std::size_t index = 0; index < values.size(); ++index) {
      const std::size_t quarter = index / side / (side / 2) * 2 + index % side / (side / 2);
      const float noise = static_cast<float>(
          glia::detail::random_bits({.seed = i}, static_cast<std::uint32_t>(index)) * 0x1p-32);
      values[index] = noise_size * noise + (quarter == corner ? 0.2F : 0.0F);
    }
  }
};

using settings = std::map<std::string, std::string>;

std::size_t number(const settings& options, const std::string& name, std::size_t fallback) {
  const auto found = options.find(name);
  return found == options.end() ? fallback : std::stoul(found->second);
}

template <class Network>
int train(const std::filesystem::path& folder, const settings& asked, const Network& network,
          const glia::shape& sample, const glia::mpi::communicator& ranks) {
  const std::size_t nobody = ranks.size();
  if (number(asked, "leave", nobody) == ranks.rank()) {
    return 0;
  }
  bright_corners images{sample, 350};
  if (number(asked, "data", nobody) == ranks.rank()) {
    images.noise_size = 2;
  }
  if (number(asked, "throw", nobody) == ranks.rank()) {
    images.throws_at = 123;  // sampled by nobody ahead
  }
  const bright_corners test{sample, 50};
  const std::size_t threads = number(asked, "threads", 1);
  glia::model net{network, sample, glia::cpu<float>({.threads = threads}), {.seed = 2}};
  const glia::distributed_options options{
      .reproducible = number(asked, "reproducible", 0) == 1,
      .bfloat16_gradients = number(asked, "bfloat16", 0) == 1,
      .bucket_bytes = number(asked, "buckets", nobody) == ranks.rank() ? 4096U : 1U << 20,
      .share_memory = number(asked, "messages", 0) == 0,
  };
  glia::trainer trainer{net, glia::softmax_cross_entropy{},
                        glia::adam{.learning_rate = glia::exponential_decay(2e-3, 20, 0.5)},
                        glia::distributed({.seed = 2}, ranks, options)};
  const double pause = std::stod(asked.contains("pause") ? asked.at("pause") : "0");
  const auto slow = glia::on_event(glia::event::train_batch_end, [&](const glia::training& t) {
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    if (t.rank == 0 && t.step == 3) {
      std::cout << "step 3" << std::endl;
    }
    if (number(asked, "full", nobody) == t.rank && t.step == 10) {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit nothing{1000, 1000};
      setrlimit(RLIMIT_FSIZE, &nothing);
    }
  });
  const auto history = trainer.fit(
      images, test,
      {.epochs = number(asked, "epochs", 4),
       .batch_size = 48,  // of 350: the last one has 14
       .metrics = std::vector{glia::accuracy(), glia::top_k_accuracy(2)},
       .progress = nullptr,
       .callbacks = {glia::checkpoints(folder / "run",
                                       {.every_steps = 1, .monitor = "validation_loss"}),
                     glia::csv_logger{folder / "history.csv"}, glia::terminate_on_nan(5), slow},
       .resume = number(asked, "resume", 0) == 1});
  if (history.interrupted) {
    if (ranks.is_first()) {
      std::cout << "interrupted: " << history.stop_reason << std::endl;
    }
    return 130;
  }
  const auto scores = glia::evaluate(net, test, glia::softmax_cross_entropy{},
                                     glia::distributed(glia::evaluate_options{}, ranks));
  if (ranks.is_first()) {
    glia::save(net, folder / "model.safetensors");
    std::cout << "trained " << scores.loss << std::endl;
  }
  return 0;
}

int run(const std::filesystem::path& folder, const settings& asked,
        const glia::mpi::communicator& ranks) {
  constexpr std::size_t side = bright_corners::side;
  const std::string network = asked.contains("network") ? asked.at("network") : "mlp";
  if (network == "mlp") {
    return train(folder, asked,
                 glia::sequential{glia::dense{40, glia::relu}, glia::dropout{0.2}, glia::dense{4}},
                 {side * side}, ranks);
  }
  const glia::conv2d convolution{
      .filters = 6, .kernel_size = 3, .padding = glia::same, .activation = glia::relu};
  if (network == "cnn") {
    return train(folder, asked,
                 glia::sequential{convolution, glia::max_pool2d{}, glia::dropout{0.2},
                                  glia::flatten{}, glia::dense{4}},
                 {side, side, 1}, ranks);
  }
  return train(folder, asked,
               glia::sequential{glia::frozen{glia::conv2d{.filters = 5, .kernel_size = 3}},
                                convolution, glia::batch_norm{}, glia::flatten{}, glia::dense{4}},
               {side, side, 1}, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  settings asked;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t end = argument.find('=');
    asked[argument.substr(0, end)] = end < argument.size() ? argument.substr(end + 1) : "";
  }
  return glia::mpi::run(
      [&](const glia::mpi::communicator& ranks) { return run(argv[1], asked, ranks); });
}
