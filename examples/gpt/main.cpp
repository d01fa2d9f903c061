// Trains a small GPT on a text, character by character, and lets it continue the text.
//
//     examples/run gpt --text my_folder --epochs 20
//
// Without a text, it learns the language of glia's documentation.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <glia/glia.hpp>
#include <glia/models/generate.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <iostream>

#include "../device.hpp"
#include "../program.hpp"
#include "../ranks.hpp"
#include "characters.hpp"

namespace {

struct settings {
  std::string text = GLIA_EXAMPLE_DATA "/../../docs", prompt = "glia is", save;
  std::size_t characters = 0, epochs = 10, batch_size = 16, steps = 256, count = 1000;
  std::size_t layers = 4, heads = 4, width = 128;
  double rate = 1e-3, dropout = 0;
  glia::sampling_options sampling = {.temperature = 0.8, .top_k = 40};
  bool rotary = false;
  std::uint64_t seed = 1;
  device_choice device;
  rank_choice ranks;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Continues the prompt and prints each character as soon as it is drawn.
template <class Model>
void write(const settings& s, const Model& net, const character_text& text,
           const std::vector<std::int32_t>& prompt) {
  const glia::stream step{net};
  std::cout << '\n' << s.prompt << std::flush;
  const auto begin = std::chrono::steady_clock::now();
  const auto tokens = glia::generate(
      step, prompt,
      {.max_tokens = s.count, .seed = s.seed, .sampling = s.sampling, .on_token = [&](int token) {
         std::cout << text.character(token) << std::flush;
       }});
  std::printf("\n\n%.0f tokens/s\n", static_cast<double>(tokens.size()) / seconds_since(begin));
}

void learn_and_write(const settings& s, const character_text& text, const glia::device& device,
                     const run_ranks& ranks) {
  const glia::gpt network{.vocabulary_size = text.symbols(),
                          .sequence_length = s.steps,
                          .num_layers = s.layers,
                          .num_heads = s.heads,
                          .embedding_dim = s.width,
                          .dropout = s.dropout,
                          .use_rotary_embedding = s.rotary};
  glia::model net{network, {s.steps}, device, {.seed = s.seed}};
  const auto [training, validation] = text.windows(s.steps, 0.1);
  const std::vector<std::int32_t> prompt = text.encode(s.prompt);  // before the long training
  const std::size_t tokens = training.size() * s.steps;
  std::cout << text.size() << " characters, " << text.symbols() << " different ones; "
            << net.parameter_count() << " parameters\n";

  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = s.rate},
                        ranks.share({.seed = s.seed})};
  const auto begin = std::chrono::steady_clock::now();
  trainer.fit(training, validation,
              {.epochs = s.epochs, .batch_size = s.batch_size, .metrics = {glia::accuracy()}});
  std::printf("%.0f tokens/s in training, with validation\n",
              static_cast<double>(tokens * s.epochs) / seconds_since(begin));
  if (!s.save.empty() && ranks.is_first()) {
    glia::save(net, s.save);
  }
  if (ranks.is_first() && s.count > 0) {
    write(s, net, text, prompt);
  }
}

}  // namespace

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Trains a small GPT on a text and lets it continue the text"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  app.add_option("--text", s.text, "file, or folder of .md and .txt files");
  app.add_option("--characters", s.characters,
                 "number of characters of the text to use, or 0 for all");
  app.add_option("--epochs", s.epochs)->check(at_least_one);
  app.add_option("--batch", s.batch_size)->check(at_least_one);
  app.add_option("--steps", s.steps, "length of the sequences")->check(at_least_one);
  app.add_option("--layers", s.layers)->check(at_least_one);
  app.add_option("--heads", s.heads)->check(at_least_one);
  app.add_option("--width", s.width, "length of a token's vector")->check(at_least_one);
  app.add_option("--rate", s.rate, "learning rate")->check(CLI::Range(0.0, 1.0));
  app.add_option("--dropout", s.dropout)->check(CLI::Range(0.0, 0.99));
  app.add_flag("--rotary", s.rotary, "rotary embeddings instead of trained positions");
  app.add_option("--prompt", s.prompt, "beginning of the text to write");
  app.add_option("--count", s.count, "number of characters to write");
  app.add_option("--temperature", s.sampling.temperature,
                 "below 1, likely characters become more likely")
      ->check(CLI::Range(0.0, 10.0));
  app.add_option("--top-k", s.sampling.top_k,
                 "number of most likely characters to draw from, or 0 for all");
  app.add_option("--top-p", s.sampling.top_p,
                 "share of the probability of the characters to draw from")
      ->check(CLI::Range(0.01, 1.0));
  app.add_option("--save", s.save, "file for the trained parameters");
  app.add_option("--seed", s.seed);
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  CLI11_PARSE(app, argc, argv);
  glia::require<glia::value_error>(!s.prompt.empty(),
                                   "expected a prompt of at least one character");
  require_writable(s.save);
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    learn_and_write(s, character_text(s.text, s.characters), make_device(s.device), ranks);
    return 0;
  });
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("gpt", argc, argv, &run);
}
