#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/models/stream.hpp"
#include "glia/text/sample_token.hpp"

namespace glia {

/// Options of `generate`.
struct generate_options {
  std::size_t max_tokens = 100;                     ///< Number of tokens to generate.
  std::uint64_t seed = 1;                           ///< Seed of the random numbers.
  sampling_options sampling = {};                   ///< How a token is drawn from the logits.
  std::optional<std::int32_t> end_token = {};       ///< Ends the text; it is not returned.
  std::function<void(std::int32_t)> on_token = {};  ///< Called with each token, unless empty.
};

/// Continues a sequence of tokens with a language model, whose outputs (N, T, V) are the logits of
/// the next token, and returns the new tokens.
///
///     const glia::stream step{net};
///     const auto ids = glia::generate(step, tokenizer.encode("Once"), {.max_tokens = 50});
///
/// The stream keeps the state of all earlier tokens, so that each new token costs one step. When
/// the sequence would exceed `max_steps` of the stream, its last `max_steps` / 2 tokens become the
/// beginning of a new sequence. Of a prompt of more than `max_steps` tokens, only these are used.
/// Any number of threads can use the stream at the same time.
///
/// Throws `value_error` if the prompt is empty, if the stream does not map one sequence of tokens
/// to logits, or if `sampling` is outside its range, and `data_error` for a token that the model
/// does not know.
inline std::vector<std::int32_t> generate(const stream& model, std::span<const std::int32_t> prompt,
                                          const generate_options& options = {}) {
  require<value_error>(!prompt.empty(), "generate: expected a prompt of at least one token");
  require<value_error>(
      model.batch_size() == 1 && model.step_shape() == shape{} && model.output_shape().rank() == 1,
      "generate: expected a stream of one sequence from tokens (1, T) to logits (1, T, V), got ",
      model.batch_size(), " sequences, steps of shape ", model.step_shape(), " and outputs ",
      model.output_shape());
  require<value_error>(model.max_steps() > 1, "generate: expected a stream of at least 2 steps");
  const std::size_t vocabulary_size = model.output_shape()[0];
  random_stream random({.seed = options.seed});
  random_stream unused = random;
  constexpr std::array<float, 1> any_logits{};
  static_cast<void>(sample_token(any_logits, options.sampling, unused));  // checks the options
  std::vector<float> sequence(prompt.begin(), prompt.end());  // tokens since the last beginning
  std::size_t processed = 0;  // number of these tokens that have run
  constexpr std::size_t block = 64;
  std::vector<float> logits(block * vocabulary_size);
  std::vector<std::int32_t> result;
  stream_state state = model.start();
  while (result.size() < options.max_tokens) {
    if (sequence.size() > model.max_steps()) {
      const auto remaining = static_cast<std::ptrdiff_t>(model.max_steps() / 2);
      sequence.erase(sequence.begin(), sequence.end() - remaining);
      state = model.start();
      processed = 0;
    }
    std::span<float> scores;
    while (processed < sequence.size()) {
      const std::size_t count = std::min(block, sequence.size() - processed);
      scores = std::span(logits).first(count * vocabulary_size);
      model.run(std::span<const float>(sequence).subspan(processed, count), scores, state);
      processed += count;
    }
    const std::int32_t token = sample_token(scores.last(vocabulary_size), options.sampling, random);
    if (token == options.end_token) {
      break;
    }
    result.push_back(token);
    sequence.push_back(static_cast<float>(token));
    if (options.on_token) {
      options.on_token(token);
    }
  }
  return result;
}

}  // namespace glia
