#include <cstdint>
#include <glia/models/generate.hpp>
#include <glia/models/stream.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

using glia::generate;
using glia::stream;
using test::message_of;

namespace {

using token_list = std::vector<std::int32_t>;

glia::gpt small_gpt() {
  return {.vocabulary_size = 9,
          .sequence_length = 16,
          .num_layers = 1,
          .num_heads = 2,
          .embedding_dim = 8,
          .kernel_initializer = glia::random_normal(0, 0.7)};
}

/// Continues a prompt by the most likely token, computing the whole sequence again for each one.
template <class Model>
token_list by_prediction(const Model& net, token_list sequence, std::size_t count) {
  const std::size_t first = sequence.size();
  while (sequence.size() < first + count) {
    xt::xarray<float> x = xt::zeros<float>({1, 16});
    std::copy(sequence.begin(), sequence.end(), x.begin());
    const xt::xarray<float> y = net.predict(x);
    std::int32_t best = 0;
    for (std::int32_t token = 1; token < 9; ++token) {
      best = y(0, sequence.size() - 1, token) > y(0, sequence.size() - 1, best) ? token : best;
    }
    sequence.push_back(best);
  }
  return {sequence.begin() + static_cast<std::ptrdiff_t>(first), sequence.end()};
}

}  // namespace

TEST_CASE("a text is continued by the most likely tokens") {
  const glia::model net{small_gpt(), {16}};
  const stream step{net};
  const token_list prompt{1, 5, 2};
  token_list told;
  const token_list tokens = generate(
      step, prompt, {.max_tokens = 13, .sampling = {.temperature = 0}, .on_token = [&](auto token) {
                       told.push_back(token);
                     }});
  CHECK(tokens == by_prediction(net, prompt, 13));
  CHECK(told == tokens);

  // The sequence is full after 16 tokens. It goes on from its last 8 tokens.
  const token_list longer =
      generate(step, prompt, {.max_tokens = 16, .sampling = {.temperature = 0}});
  CHECK(token_list(longer.begin(), longer.begin() + 13) == tokens);
  token_list last(tokens.end() - 7, tokens.end());
  last.push_back(longer[13]);
  CHECK(longer[14] == by_prediction(net, last, 1)[0]);
  CHECK(longer[15] == by_prediction(net, last, 2)[1]);

  // A long prompt is shortened in the same way.
  token_list long_prompt(30, 3);
  long_prompt[29] = 4;
  CHECK(generate(step, long_prompt, {.max_tokens = 1, .sampling = {.temperature = 0}}) ==
        by_prediction(net, token_list(long_prompt.end() - 8, long_prompt.end()), 1));
}

TEST_CASE("the same seed gives the same text, and an end token ends it") {
  const glia::model net{small_gpt(), {16}};
  const stream step{net};
  const token_list prompt{1};
  const token_list tokens = generate(step, prompt, {.max_tokens = 40, .seed = 3});
  CHECK(tokens.size() == 40);
  CHECK(generate(step, prompt, {.max_tokens = 40, .seed = 3}) == tokens);
  CHECK(generate(step, prompt, {.max_tokens = 40, .seed = 4}) != tokens);
  const token_list short_text =
      generate(step, prompt, {.max_tokens = 40, .seed = 3, .end_token = tokens[20]});
  const auto end = std::find(tokens.begin(), tokens.end(), tokens[20]);
  CHECK(short_text == token_list(tokens.begin(), end));
  CHECK(generate(step, prompt, {.max_tokens = 0}).empty());
}

TEST_CASE("generate refuses prompts and streams that it cannot continue") {
  const glia::model net{small_gpt(), {16}};
  const stream step{net};
  CHECK(message_of<glia::value_error>([&] { generate(step, token_list{}); }) ==
        "generate: expected a prompt of at least one token");
  CHECK(test::contains(message_of<glia::data_error>([&] { generate(step, token_list{9}); }),
                       "has the value 9"));
  const stream two{net, {.batch_size = 2}};
  CHECK(test::contains(message_of<glia::value_error>([&] { generate(two, token_list{1}); }),
                       "got 2 sequences"));
  const stream one_step{net, {.max_steps = 1}};
  CHECK(message_of<glia::value_error>([&] { generate(one_step, token_list{1}); }) ==
        "generate: expected a stream of at least 2 steps");
  CHECK(test::contains(message_of<glia::value_error>([&] {
                         generate(step, token_list{1}, {.sampling = {.temperature = -1}});
                       }),
                       "expected a finite temperature"));
}
