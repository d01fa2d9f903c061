// Learns from a list of names, character by character, to write others like them.
//
//     examples/run names --names my_list.txt --epochs 60
//
// The list has one name in each line. A recurrent network reads a name's characters and says at
// each what comes next; what it writes is drawn from what it says.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <glia/glia.hpp>
#include <iostream>

#include "../device.hpp"
#include "../program.hpp"
#include "../ranks.hpp"
#include "text.hpp"

namespace {

struct settings {
  std::string names = GLIA_EXAMPLE_DATA "/names.txt";
  std::size_t epochs = 60, batch_size = 32, units = 128, count = 12;
  double temperature = 0.7;
  std::uint64_t seed = 1;
  device_choice device;
  rank_choice ranks;
};

void learn_and_write(const settings& s, const names_text& text, const glia::device& device,
                     const run_ranks& ranks) {
  const glia::sequential network{
      glia::embedding{.input_dim = text.symbols(), .output_dim = 24},
      glia::gru{.units = s.units, .return_sequences = true},
      glia::dropout{0.3},
      glia::time_distributed{glia::dense{text.symbols()}},
  };
  glia::model net{network, {text.steps()}, device, {.seed = s.seed}};
  std::cout << text.names().size() << " names of " << text.symbols() - 1
            << " different characters\n\n"
            << net.summary() << '\n';

  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 3e-3},
                        ranks.share({.seed = s.seed})};
  trainer.fit(glia::target_arrays{text.read(), text.said()},
              {.epochs = s.epochs, .batch_size = s.batch_size, .metrics = {glia::accuracy()}});

  std::cout << "\nnames that it writes (* is in the list)\n";
  for (const std::string& name : write_names(net, text, s.count, s.temperature, s.seed)) {
    std::cout << "  " << name << (text.holds(name) ? " *" : "") << '\n';
  }
}

}  // namespace

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Learns from a list of names to write others like them"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--names", s.names, "file with one name in each line");
  app.add_option("--epochs", s.epochs)->check(at_least_one);
  app.add_option("--batch", s.batch_size)->check(at_least_one);
  app.add_option("--units", s.units, "of the recurrent layer")->check(at_least_one);
  app.add_option("--count", s.count, "how many names to write")->check(at_least_one);
  app.add_option("--temperature", s.temperature, "below 1 stays closer to what is likely")
      ->check(CLI::Range(0.01, 10.0));
  app.add_option("--seed", s.seed);
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  CLI11_PARSE(app, argc, argv);
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    const names_text text(s.names);
    learn_and_write(s, text, make_device(s.device), ranks);
    return 0;
  });
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("names", argc, argv, &run);
}
