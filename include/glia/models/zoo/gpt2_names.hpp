#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/io/parameters.hpp"
#include "glia/models/zoo/gpt.hpp"

namespace glia {

/// Returns the name map for published weights of GPT-2, as Hugging Face's transformers writes them
/// with safetensors.
///
///     const glia::gpt network{.use_tanh_gelu = true};
///     glia::model net{network, {1024}};
///     glia::load_parameters(net, glia::read_safetensors("model.safetensors"),
///                           glia::gpt2_names(network));
///
/// The network must have the sizes of the file, `use_tanh_gelu` and no rotary embedding. `prefix`
/// is the beginning of the names in the file: "transformer." in some files.
///
/// Throws `value_error` for a network with rotary embeddings or without `use_tanh_gelu`.
[[nodiscard]] inline name_map gpt2_names(const gpt& network, const std::string& prefix = "") {
  require<value_error>(!network.use_rotary_embedding,
                       "gpt2_names: expected a network with trained positions, got one with "
                       "use_rotary_embedding");
  require<value_error>(network.use_tanh_gelu,
                       "gpt2_names: expected a network with use_tanh_gelu, as GPT-2 was trained");
  name_map result;
  const auto add = [&](const std::string& parameter, const std::string& tensor,
                       std::size_t part = 0, std::size_t parts = 1) {
    result.sources.push_back(
        {.parameter = parameter, .tensor = prefix + tensor, .parts = parts, .part = part});
  };
  const auto add_norm = [&](const std::string& layer, const std::string& module) {
    add(layer + ".gamma", module + ".weight");
    add(layer + ".beta", module + ".bias");
  };
  add("tokens.embeddings", "wte.weight");
  add("positions.embeddings", "wpe.weight");
  for (std::size_t i = 0; i < network.num_layers; ++i) {
    const std::string block = text("block_", i, '.');
    const std::string module = text("h.", i, '.');
    add_norm(block + "attention_norm", module + "ln_1");
    constexpr std::array<const char*, 3> projections{"query", "key", "value"};
    for (std::size_t part = 0; part < projections.size(); ++part) {
      const std::string projection = block + "attention." + projections[part];
      add(projection + "_kernel", module + "attn.c_attn.weight", part, projections.size());
      add(projection + "_bias", module + "attn.c_attn.bias", part, projections.size());
    }
    add(block + "attention.output_kernel", module + "attn.c_proj.weight");
    add(block + "attention.output_bias", module + "attn.c_proj.bias");
    add_norm(block + "mlp_norm", module + "ln_2");
    add(block + "mlp.dense_0.kernel", module + "mlp.c_fc.weight");
    add(block + "mlp.dense_0.bias", module + "mlp.c_fc.bias");
    add(block + "mlp.dense_1.kernel", module + "mlp.c_proj.weight");
    add(block + "mlp.dense_1.bias", module + "mlp.c_proj.bias");
  }
  add_norm("norm", "ln_f");
  // The causal masks, and the scores' table, which is that of the tokens.
  result.ignored_suffixes = {".attn.bias", ".attn.masked_bias", "lm_head.weight"};
  return result;
}

}  // namespace glia
