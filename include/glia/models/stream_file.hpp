#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/io/checked_content.hpp"
#include "glia/models/model_file.hpp"
#include "glia/models/model_identity.hpp"
#include "glia/models/stream.hpp"

namespace glia {

/// Saves the state of sequences that run through a stream to a safetensors file.
///
///     glia::save_state(blocks, state, "state.safetensors");
///
/// Another process with the same model can continue the sequences with `load_state`. The parameters
/// of the model are not in the file. The file is written as a whole or not at all.
///
/// Throws `data_error`, with the path, if the file cannot be written, and `value_error` if the
/// shapes of the state do not fit the stream. Needs nlohmann-json: link `glia::safetensors`.
inline void save_state(const stream& blocks, const stream_state& state,
                       const std::filesystem::path& path) {
  blocks.require_own(state);
  const model_core& net = blocks.core();
  safetensors_content content{.tensors = {},
                              .metadata = detail::model_identity(net.plan(), net.sample_shape())};
  content.metadata["glia"] = detail::stream_file;
  content.metadata["steps"] = text(state.steps);
  for (const tensor& value : state.values) {
    content.tensors.push_back(
        {text("state.", content.tensors.size()), value.shape(), numbers_of(net.device(), value)});
  }
  detail::write_checked_content(path, std::move(content));
}

/// Loads the state of sequences from a file that `save_state` wrote.
///
///     glia::stream_state state = glia::load_state(blocks, "state.safetensors");
///
/// The next blocks give the same bits as they would have given in the process that saved the state,
/// if the model has the same parameters and the device computes in the same type.
///
/// Throws `data_error`, with the path, if the file is damaged, was not written by `save_state`, or
/// belongs to another network or to a stream with other options.
[[nodiscard]] inline stream_state load_state(const stream& blocks, const file_source& file) {
  const safetensors_content content = detail::read_checked_content(file);
  const model_core& net = blocks.core();
  detail::require_identity(file.name(), content.metadata, net.plan(), net.sample_shape());
  const auto entry = [&](const char* key) {
    const auto found = content.metadata.find(key);
    return found == content.metadata.end() ? std::string() : found->second;
  };
  require<data_error>(entry("glia") == detail::stream_file, file.name(), ": expected '",
                      detail::stream_file, "' in the metadata, got '", entry("glia"),
                      "'; a state of a stream is written by save_state");
  stream_state state = blocks.start();
  const std::string steps = entry("steps");
  const auto parsed = std::from_chars(steps.data(), steps.data() + steps.size(), state.steps);
  require<data_error>(parsed.ec == std::errc() && parsed.ptr == steps.data() + steps.size() &&
                          state.steps <= blocks.max_steps(),
                      file.name(), ": expected at most ", blocks.max_steps(), " steps, got '",
                      steps, "'; make the stream with the options of the one that was saved");
  require<data_error>(content.tensors.size() == state.values.size(), file.name(), ": expected ",
                      state.values.size(), " tensors, got ", content.tensors.size(),
                      "; the file is damaged");
  for (std::size_t i = 0; i < state.values.size(); ++i) {
    tensor& value = state.values[i];
    const std::string name = text("state.", i);
    const auto found = std::find_if(content.tensors.begin(), content.tensors.end(),
                                    [&](const named_tensor& t) { return t.name == name; });
    require<data_error>(found != content.tensors.end(), file.name(), ": there is no tensor '", name,
                        "'; the file is damaged");
    require<data_error>(found->shape == value.shape(), file.name(), ": expected the tensor '", name,
                        "' of shape ", value.shape(), ", got ", found->shape,
                        "; make the stream with the options of the one that was saved");
    value = tensor_of(net.device(), found->values, found->shape);
  }
  return state;
}

}  // namespace glia
