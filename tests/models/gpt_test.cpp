#include "../golden/gpt_golden.hpp"

#include <cmath>
#include <glia/io/parameters.hpp>
#include <glia/models/zoo/gpt.hpp>
#include <glia/models/zoo/gpt2_names.hpp>
#include <glia/testing/gradient_check.hpp>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "layers/formula.hpp"
#include "tolerances.hpp"

using glia::embedding;
using glia::multi_head_attention;
using glia::sequential;
using test::contains;
using test::message_of;

namespace {

const std::vector<std::size_t> attention_offsets{21, 22, 23, 24, 25, 26, 27, 28};

/// Attention of a sequence (4, 5) to another one (6, 7), which a layer reads first.
template <class Source>
auto translation(const Source& source) {
  const multi_head_attention attention{.num_heads = 2, .key_dim = 3, .context = "source"};
  return glia::inputs{glia::join::branch{1},
                      glia::input{"source", {6, 7}, glia::context{"source", source}},
                      glia::input{"target", {4, 5}, attention}};
}

/// The rows of both sequences, with steps of the source that are 9 where they are padding.
std::vector<float> translated_rows(bool with_padding) {
  const std::vector<float> target = test::by_formula({2, 4, 5}, 11);
  std::vector<float> source = test::by_formula({2, 6, 7}, 13);
  if (with_padding) {
    std::fill(source.begin() + 4 * 7, source.begin() + 6 * 7, 9.F);
    std::fill(source.begin() + 7 * 7, source.begin() + 8 * 7, 9.F);
  }
  std::vector<float> rows;
  for (std::size_t n = 0; n < 2; ++n) {
    rows.insert(rows.end(), &source[n * 42], &source[n * 42] + 42);
    rows.insert(rows.end(), &target[n * 20], &target[n * 20] + 20);
  }
  return rows;
}

glia::gpt small_gpt() {
  return {.vocabulary_size = 13,
          .sequence_length = 10,
          .num_layers = 2,
          .num_heads = 2,
          .embedding_dim = 12,
          .use_tanh_gelu = true};
}

/// Tensors with the names and shapes of GPT-2's weights.
glia::tensor_map gpt2_weights() {
  std::map<std::string, glia::shape> shapes{{"ln_f.bias", {12}},
                                            {"ln_f.weight", {12}},
                                            {"wpe.weight", {10, 12}},
                                            {"wte.weight", {13, 12}}};
  for (const std::string block : {"h.0.", "h.1."}) {
    for (const char* norm : {"ln_1", "ln_2"}) {
      shapes[block + norm + ".weight"] = {12};
      shapes[block + norm + ".bias"] = {12};
    }
    const std::map<std::string, glia::shape> kernels{{"attn.c_attn", {12, 36}},
                                                     {"attn.c_proj", {12, 12}},
                                                     {"mlp.c_fc", {12, 48}},
                                                     {"mlp.c_proj", {48, 12}}};
    for (const auto& [name, kernel] : kernels) {
      shapes[block + name + ".weight"] = kernel;
      shapes[block + name + ".bias"] = {kernel[1]};
    }
  }
  glia::tensor_map tensors;
  std::size_t offset = 0;
  for (const auto& [name, s] : shapes) {
    const std::vector<float> values = test::by_formula(s, offset);
    xt::xarray<float> tensor(xt::xarray<float>::shape_type(s.begin(), s.end()));
    std::copy(values.begin(), values.end(), tensor.begin());
    tensors[name] = tensor;
    offset += 17;
  }
  return tensors;
}

}  // namespace

TEST_CASE("attention to another sequence is torch's, with padding and without") {
  CHECK(test::distance(test::outputs_of(translation(glia::identity{}), {2, 62},
                                        translated_rows(false), attention_offsets),
                       glia_golden::cross_attention) < tolerance::golden);
  CHECK(test::distance(test::outputs_of(translation(glia::masking{9}), {2, 62},
                                        translated_rows(true), attention_offsets),
                       glia_golden::cross_attention_with_padding) < tolerance::golden);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), translation(glia::identity{}),
                                            {{2, 62}, 3U}) < tolerance::gradient);
}

TEST_CASE("a branch is chosen with its own mask") {
  // Both sequences have four steps. Only the first one has padding.
  const auto mean = [](const auto& first) {
    return sequential{glia::inputs{glia::join::branch{1}, glia::input{"first", {4, 1}, first},
                                   glia::input{"second", {4, 1}, glia::identity{}}},
                      glia::global_avg_pool1d{}};
  };
  const xt::xarray<float> rows{{9, 9, 9, 1, 1, 2, 3, 6}};
  const glia::model net{mean(glia::masking{9})};
  CHECK(net.predict(rows)(0, 0) == 3);
  const glia::model all{sequential{glia::inputs{glia::input{"first", {4, 1}, glia::masking{9}}},
                                   glia::global_avg_pool1d{}}};
  CHECK(all.predict(xt::xarray<float>{{9, 9, 9, 1}})(0, 0) == 1);
  CHECK(contains(message_of<glia::value_error>([] {
                   const glia::model bad{
                       glia::parallel{glia::join::branch{2}, glia::dense{1}, glia::dense{1}}, {3}};
                 }),
                 "expected a branch from 0 to 1 in join::branch, got 2"));
}

TEST_CASE("rotary embeddings are those of Llama") {
  multi_head_attention layer{
      .num_heads = 2, .key_dim = 6, .use_causal_mask = true, .use_rotary_embedding = true};
  const auto outputs = [&] {
    return test::outputs_of(layer, {2, 7, 5}, test::by_formula({2, 7, 5}, 11), attention_offsets);
  };
  CHECK(test::distance(outputs(), glia_golden::rotary_attention) < tolerance::golden);
  layer.max_wavelength = 20;
  CHECK(test::distance(outputs(), glia_golden::rotary_attention_of_short_waves) <
        tolerance::golden);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{2, 7, 5}, 3U}) <
        tolerance::gradient);
  CHECK(layer.description() == "multi_head_attention(2 heads of 6, causal, rotary)");
}

TEST_CASE("attention refuses options that do not go together, and contexts that are not there") {
  const auto refusal = [](const auto& description) {
    return message_of<glia::value_error>([&] { const glia::model net{description, {4, 6}}; });
  };
  CHECK(contains(
      refusal(multi_head_attention{.num_heads = 2, .key_dim = 3, .use_rotary_embedding = true}),
      "expected an even key_dim for a rotary embedding, got 3"));
  CHECK(contains(
      refusal(multi_head_attention{
          .num_heads = 2, .key_dim = 4, .use_rotary_embedding = true, .max_wavelength = 0.5}),
      "expected a finite max_wavelength of at least 1, got 0.5"));
  const multi_head_attention attention{.num_heads = 2, .key_dim = 3, .context = "source"};
  CHECK(contains(refusal(attention),
                 "there is no context 'source'; no context has run before this layer; store one "
                 "with glia::context{\"source\", layer}"));
  CHECK(contains(refusal(sequential{glia::context{"other", glia::identity{}}, attention}),
                 "the contexts before this layer are: other"));
  multi_head_attention causal = attention;
  causal.use_causal_mask = true;
  CHECK(contains(refusal(sequential{glia::context{"source", glia::identity{}}, causal}),
                 "remove use_causal_mask"));
  CHECK(contains(refusal(glia::context{"", glia::identity{}}), "expected a name"));
  CHECK(contains(
      message_of<glia::shape_error>([&] {
        const glia::model net{sequential{glia::context{"source", glia::flatten{}}}, {4, 6}};
      }),
      "expected a layer whose output is a sequence (N, T, C), got (N, 24)"));
  CHECK(glia::text(attention) == "multi_head_attention(2 heads of 3, context source)");
}

TEST_CASE("trained positions are added to each step") {
  const glia::position_embedding layer{.sequence_length = 5};
  const std::vector<float> x = test::by_formula({2, 3, 4}, 5);
  const std::vector<float> table = test::by_formula({5, 4}, 7);
  std::vector<float> expected = x;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] += table[i % 12];
  }
  CHECK(test::outputs_of(layer, {2, 3, 4}, x, {7}) == expected);
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {{2, 3, 4}, 1U}) <
        tolerance::gradient);
  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::model net{layer, {6, 4}};
                 }),
                 "position_embedding(5): expected at most 5 steps, the sequence_length, got 6"));
  CHECK(contains(message_of<glia::value_error>([] {
                   const glia::model net{glia::position_embedding{}, {6, 4}};
                 }),
                 "expected a sequence_length of at least 1"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::model net{layer, {6}};
                 }),
                 "expected sequences (N, T, C)"));
}

TEST_CASE("an unembedding shares the table of an embedding, and has the products as scores") {
  const glia::shared tokens{"tokens", embedding{.input_dim = 7, .output_dim = 4}};
  const glia::shared scores{"tokens", glia::unembedding{.input_dim = 7, .output_dim = 4}};
  glia::model net{sequential{tokens, scores}, {3}};
  REQUIRE(net.parameters().size() == 1);
  const xt::xarray<float> table = net.get("tokens.embeddings");
  const xt::xarray<float> y = net.predict(xt::xarray<float>{{2, 0, 6}});
  const std::vector<std::size_t> rows{2, 0, 6};
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t token = 0; token < 7; ++token) {
      float product = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        product += table(rows[t], i) * table(token, i);
      }
      CHECK(y(0, t, token) == Approx(product).margin(1e-7));
    }
  }
  const glia::unembedding layer{.input_dim = 7, .output_dim = 4};
  for (const glia::shape& batch : {glia::shape{3, 4}, glia::shape{2, 3, 4}}) {
    CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), layer, {batch, 1U}) <
          tolerance::gradient);
  }
  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::model bad{layer, {3, 5}};
                 }),
                 "expected vectors of 4 numbers, (N, 4) or (N, T, 4), got (N, 3, 5)"));
  CHECK(contains(message_of<glia::value_error>([&] {
                   const glia::model bad{glia::unembedding{.input_dim = 7}, {3, 5}};
                 }),
                 "expected an input_dim and an output_dim of at least 1"));
}

TEST_CASE("a small GPT-2 with loaded weights has the logits of transformers") {
  const glia::gpt network = small_gpt();
  glia::model net{network, {9}};
  const glia::name_map names = glia::gpt2_names(network);
  glia::tensor_map weights = gpt2_weights();
  weights["h.0.attn.bias"] = xt::ones<float>({1, 1, 10, 10});
  weights["lm_head.weight"] = weights["wte.weight"];
  glia::load_parameters(net, weights, names);
  xt::xarray<float> tokens = xt::zeros<float>({2, 9});
  for (std::size_t n = 0; n < 2; ++n) {
    for (std::size_t i = 0; i < 9; ++i) {
      tokens(n, i) = static_cast<float>((i * 5 + n * 3 + i * i) % 13);
    }
  }
  const xt::xarray<float> logits = net.predict(tokens);
  CHECK(test::distance(std::vector<float>(logits.begin(), logits.end()), glia_golden::gpt2) <
        5 * tolerance::golden);

  glia::gpt rotary = network;
  rotary.use_rotary_embedding = true;
  CHECK(
      contains(message_of<glia::value_error>([&] { static_cast<void>(glia::gpt2_names(rotary)); }),
               "use_rotary_embedding"));
  glia::gpt with_erf = network;
  with_erf.use_tanh_gelu = false;
  CHECK(contains(
      message_of<glia::value_error>([&] { static_cast<void>(glia::gpt2_names(with_erf)); }),
      "expected a network with use_tanh_gelu"));
  const glia::name_map with_prefix = glia::gpt2_names(network, "transformer.");
  CHECK(with_prefix.sources.front().tensor == "transformer.wte.weight");
}

TEST_CASE("a small GPT-2 learns as transformers' does") {
  const glia::gpt network = small_gpt();
  glia::model net{network, {9}};
  glia::load_parameters(net, gpt2_weights(), glia::gpt2_names(network));
  const auto tokens = [](std::size_t first, std::size_t count, std::size_t begin) {
    xt::xarray<float> result = xt::zeros<float>({count, std::size_t{9}});
    for (std::size_t n = 0; n < count; ++n) {
      for (std::size_t t = 0; t < 9; ++t) {
        const std::size_t i = begin + t;
        result(n, t) = static_cast<float>((i * 5 + (first + n) * 3 + i * i) % 13);
      }
    }
    return result;
  };
  const glia::target_arrays training{tokens(0, 4, 0), tokens(0, 4, 1)};
  const glia::target_arrays validation{tokens(4, 3, 0), tokens(4, 3, 1)};
  const glia::softmax_cross_entropy loss;
  glia::trainer trainer{net, loss, glia::adam{.learning_rate = 0.01}};
  for (const float expected : glia_golden::gpt2_training) {
    trainer.fit(training, {.epochs = 20, .batch_size = 4, .shuffle = false, .progress = nullptr});
    CHECK(glia::evaluate(net, validation, loss).loss == Approx(expected).epsilon(1e-3));
  }
}

TEST_CASE("a part of a tensor must be there") {
  glia::model net{glia::dense{2}, {3}};
  glia::tensor_map tensors;
  tensors["w"] = xt::xarray<float>{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  glia::load_parameters(
      net, tensors,
      {.sources = {{.parameter = "dense_0.kernel", .tensor = "w", .parts = 2, .part = 1}},
       .ignored_suffixes = {}});
  CHECK((net.get("dense_0.kernel") == xt::xarray<float>{{3, 4}, {7, 8}, {11, 12}}));
  const auto refusal = [&](std::size_t parts, std::size_t part) {
    return message_of<glia::value_error>([&] {
      glia::load_parameters(
          net, tensors,
          {.sources =
               {{.parameter = "dense_0.kernel", .tensor = "w", .parts = parts, .part = part}},
           .ignored_suffixes = {}});
    });
  };
  CHECK(contains(refusal(2, 2), "is part 2 of 2 parts of the 4 columns of the tensor 'w'"));
  CHECK(contains(refusal(3, 0), "is part 0 of 3 parts"));
  CHECK(contains(refusal(0, 0), "is part 0 of 0 parts"));
}

TEST_CASE("a gpt learns a pattern, and refuses sizes that do not fit") {
  glia::gpt network{.vocabulary_size = 5,
                    .sequence_length = 12,
                    .num_layers = 1,
                    .num_heads = 2,
                    .embedding_dim = 16,
                    .dropout = 0.05,
                    .use_rotary_embedding = true};
  // 0 1 2 0 1 3 0 1 2 ...: the token after 1 depends on the one five steps before.
  const std::vector<float> pattern{0, 1, 2, 0, 1, 3};
  xt::xarray<float> x = xt::zeros<float>({64, 12});
  xt::xarray<float> next = x;
  for (std::size_t n = 0; n < 64; ++n) {
    for (std::size_t t = 0; t < 12; ++t) {
      x(n, t) = pattern[(n + t) % pattern.size()];
      next(n, t) = t < 4 ? -1.F : pattern[(n + t + 1) % pattern.size()];
    }
  }
  glia::model net{network, {12}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{.learning_rate = 0.01}};
  const glia::history history = trainer.fit(
      glia::target_arrays{x, next},
      {.epochs = 60, .batch_size = 16, .metrics = {glia::accuracy()}, .progress = nullptr});
  CHECK(history.epochs.back().training["accuracy"] > 0.99);

  const auto refusal = [&] {
    return message_of<glia::value_error>([&] { const glia::model bad{network, {12}}; });
  };
  network.num_heads = 3;
  CHECK(
      contains(refusal(), "expected an embedding_dim of gpt that num_heads divides, got 16 and 3"));
  network.num_heads = 0;
  CHECK(contains(refusal(), "expected sizes of at least 1 for gpt"));
  network.num_heads = 2;
  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::model bad{network, {13}};
                 }),
                 "expected at most 12 steps, the sequence_length of gpt, got 13"));
  CHECK(contains(message_of<glia::shape_error>([&] {
                   const glia::model bad{network, {3, 4}};
                 }),
                 "expected sequences of tokens (N, T) for gpt, got (N, 3, 4)"));
}
