#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/core/mapped_file.hpp"
#include "glia/core/parse_number.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/core/utf8.hpp"
#include "glia/io/safetensors_reader.hpp"
#include "glia/models/any_compositions.hpp"
#include "glia/models/model_file.hpp"
#include "glia/models/open.hpp"
#include "glia/models/zoo/gpt.hpp"
#include "glia/models/zoo/mobilenet_v2.hpp"
#include "glia/models/zoo/u_net.hpp"
#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

namespace detail {

/// Types that are templates are made with `any_layer` as their parts.
template <class Composition>
[[nodiscard]] any_layer read_composition(option_reader& options, Composition composition) {
  Composition::visit_options(composition, options);
  return any_layer(std::move(composition));
}

[[nodiscard]] inline any_layer read_residual(option_reader& options) {
  const any_layer nothing;
  return options.has("shortcut") ? read_composition(options, residual{nothing, nothing})
                                 : read_composition(options, residual{nothing});
}

using read_function = any_layer (*)(option_reader&);

/// Returns the function that reads a composition of this name, or null if there is none.
[[nodiscard]] inline read_function composition_reader(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, read_function>, 11> readers{{
      {"sequential",
       [](option_reader& o) { return read_composition(o, layer_stack{std::vector<any_layer>{}}); }},
      {"residual", &read_residual},
      {"parallel", [](option_reader& o) { return read_composition(o, any_parallel{}); }},
      {"inputs", [](option_reader& o) { return read_composition(o, any_inputs{}); }},
      {"outputs", [](option_reader& o) { return read_composition(o, any_outputs{}); }},
      {"named",
       [](option_reader& o) {
         return read_composition(o, named{"", any_layer{}});
       }},
      {"shared",
       [](option_reader& o) {
         return read_composition(o, shared{"", any_layer{}});
       }},
      {"context",
       [](option_reader& o) {
         return read_composition(o, context{"", any_layer{}});
       }},
      {"frozen", [](option_reader& o) { return read_composition(o, frozen{any_layer{}}); }},
      {"time_distributed",
       [](option_reader& o) { return read_composition(o, time_distributed{any_layer{}}); }},
      {"zoo_network", [](option_reader& o) { return read_composition(o, zoo_network{""}); }},
  }};
  const auto* const found = std::find_if(readers.begin(), readers.end(),
                                         [&](const auto& entry) { return entry.first == name; });
  return found == readers.end() ? nullptr : found->second;
}

GLIA_INLINE bool is_known_composition(std::string_view name) {
  return composition_reader(name) != nullptr;
}

template <class... Layers>
[[nodiscard]] std::vector<layer_type> layer_types(layer_list<Layers...>) {
  return {layer_type::of<Layers>()..., layer_type::of<gelu_tanh>(), layer_type::of<gpt>(),
          layer_type::of<mobilenet_v2>(), layer_type::of<u_net>()};
}

GLIA_INLINE const std::vector<layer_type>& known_layer_types() {
  static const std::vector<layer_type> types = layer_types(all_layers{});
  return types;
}

[[nodiscard]] inline const layer_type* known_type(const std::vector<layer_type>& types,
                                                  std::string_view name) {
  const auto found = std::find_if(types.begin(), types.end(),
                                  [&](const layer_type& type) { return type.name() == name; });
  return found == types.end() ? nullptr : &*found;
}

GLIA_INLINE bool option_reader::has(std::string_view name) const {
  return object_.json->is_object() && object_.json->contains(name);
}

GLIA_INLINE stored_value option_reader::find(std::string_view name) {
  asked_.emplace_back(name);
  if (!object_.json->is_object()) {
    fail(object_, "an object");
  }
  const auto found = object_.json->find(name);
  return found == object_.json->end() ? stored_value{}
                                      : stored_value{&*found, text(object_.place, '.', name)};
}

GLIA_INLINE std::string option_reader::find_type() {
  asked_.emplace_back("type");
  return type_of(object_);
}

GLIA_INLINE void option_reader::require_all_read() const {
  for (const auto& [name, value] : object_.json->items()) {
    require<data_error>(std::find(asked_.begin(), asked_.end(), name) != asked_.end(), text_->file,
                        ": the description of the network has the option '", name, "' at ",
                        object_.place,
                        ", which this version of glia does not know; the file was written by a "
                        "newer version");
  }
}

GLIA_INLINE void option_reader::fail(const stored_value& value, std::string_view expected) const {
  constexpr std::size_t longest = 40;
  std::string json = value.json->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (json.size() > longest) {
    std::size_t end = longest;
    while (!is_utf8(std::string_view(json).substr(0, end))) {
      --end;
    }
    json = json.substr(0, end) + "...";
  }
  throw data_error(text(text_->file, ": the description of the network is wrong at ", value.place,
                        ": expected ", expected, ", got ", json));
}

GLIA_INLINE std::vector<stored_value> option_reader::items(const stored_value& value) const {
  if (!value.json->is_array()) {
    fail(value, "a list");
  }
  std::vector<stored_value> result;
  for (const nlohmann::json& item : *value.json) {
    result.push_back({&item, text(value.place, '[', result.size(), ']')});
  }
  return result;
}

GLIA_INLINE std::vector<std::size_t> option_reader::sizes(const stored_value& value,
                                                          std::size_t count) const {
  if (!value.json->is_array() || value.json->size() != count) {
    fail(value, text("a list of ", count, " numbers"));
  }
  std::vector<std::size_t> result;
  for (const stored_value& item : items(value)) {
    read(item, result.emplace_back());
  }
  return result;
}

GLIA_INLINE std::string option_reader::type_of(const stored_value& value) const {
  if (value.json->is_string()) {  // an activation as a layer
    return std::string(activation::type_name);
  }
  if (!value.json->is_object()) {
    fail(value, "a layer");
  }
  const auto type = value.json->find("type");
  if (type != value.json->end() && type->is_string()) {
    return type->get<std::string>();
  }
  const auto description = value.json->find("description");
  if (description != value.json->end() && description->is_string()) {
    throw data_error(text(
        text_->file, ": a file cannot describe the layer '", description->get<std::string>(),
        "' at ", value.place,
        ", because it is a function, or has no type_name and visit_options; describe the network "
        "in the program and use glia::load, or add them to the layer and save the model again"));
  }
  fail(value, "a layer with a type");
}

GLIA_INLINE any_layer option_reader::read_layer(const stored_value& value) {
  const std::string type = type_of(value);
  if (value.json->is_string()) {
    activation map;
    read(value, map);
    return map;
  }
  constexpr std::size_t deepest = 64;
  if (text_->depth == deepest) {
    fail(value, text("at most ", deepest, " compositions inside of each other"));
  }
  option_reader options(*text_, value);
  options.asked_.emplace_back("type");
  const layer_type* single = known_type(text_->layers, type);
  single = single == nullptr ? known_type(known_layer_types(), type) : single;
  const read_function composition = composition_reader(type);
  require<data_error>(single != nullptr || composition != nullptr, text_->file,
                      ": the network contains the layer '", type, "' at ", value.place,
                      ", which glia does not have; if it is a layer of your program, list it: "
                      "glia::open(path, {.layers = {glia::layer_type::of<",
                      type, ">()}})");
  ++text_->depth;
  any_layer result = single != nullptr ? single->read(options) : composition(options);
  --text_->depth;
  options.require_all_read();
  return result;
}

GLIA_INLINE void option_reader::read(const stored_value& value, bool& option) const {
  if (!value.json->is_boolean()) {
    fail(value, "true or false");
  }
  option = value.json->get<bool>();
}
GLIA_INLINE void option_reader::read(const stored_value& value, std::size_t& option) const {
  constexpr std::size_t largest = std::size_t{1} << 31;
  if (!value.json->is_number_unsigned() || value.json->get<std::size_t>() > largest) {
    fail(value, text("a whole number from 0 to ", largest));
  }
  option = value.json->get<std::size_t>();
}
GLIA_INLINE void option_reader::read(const stored_value& value, int& option) const {
  const bool fits = value.json->is_number_integer() &&
                    value.json->get<double>() >= std::numeric_limits<int>::min() &&
                    value.json->get<double>() <= std::numeric_limits<int>::max();
  if (!fits) {
    fail(value, "a whole number");
  }
  option = value.json->get<int>();
}
GLIA_INLINE void option_reader::read(const stored_value& value, float& option) const {
  double number = 0;
  read(value, number);
  option = static_cast<float>(number);
}
GLIA_INLINE void option_reader::read(const stored_value& value, double& option) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (*value.json == "inf" || *value.json == "-inf") {
    option = *value.json == "inf" ? infinity : -infinity;
  } else if (*value.json == "nan") {
    option = std::numeric_limits<double>::quiet_NaN();
  } else if (value.json->is_number()) {
    option = value.json->get<double>();
  } else {
    fail(value, "a number");
  }
}
GLIA_INLINE void option_reader::read(const stored_value& value, std::string& option) const {
  if (!value.json->is_string()) {
    fail(value, "a text");
  }
  option = value.json->get<std::string>();
}
GLIA_INLINE void option_reader::read(const stored_value& value, shape& option) const {
  if (!value.json->is_array() || value.json->size() > shape::max_rank) {
    fail(value, text("a list of at most ", shape::max_rank, " extents"));
  }
  const std::vector<std::size_t> extents = sizes(value, value.json->size());
  option = shape(extents.begin(), extents.end());
}
GLIA_INLINE void option_reader::read(const stored_value& value, extent2d& option) const {
  const std::vector<std::size_t> e = sizes(value, 2);
  option = {e[0], e[1]};
}
GLIA_INLINE void option_reader::read(const stored_value& value, extent3d& option) const {
  const std::vector<std::size_t> e = sizes(value, 3);
  option = {e[0], e[1], e[2]};
}
GLIA_INLINE void option_reader::read(const stored_value& value, border2d& option) const {
  const std::vector<std::size_t> b = sizes(value, 4);
  option = {b[0], b[1], b[2], b[3]};
}
GLIA_INLINE void option_reader::read(const stored_value& value, padding1d& option) const {
  if (*value.json == "valid") {
    option = valid;
  } else if (*value.json == "same") {
    option = same;
  } else if (*value.json == "causal") {
    option = causal;
  } else {
    const std::vector<std::size_t> p = sizes(value, 2);
    option = {p[0], p[1]};
  }
}
GLIA_INLINE void option_reader::read(const stored_value& value, padding2d& option) const {
  if (*value.json == "valid") {
    option = valid;
  } else if (*value.json == "same") {
    option = same;
  } else {
    const std::vector<std::size_t> p = sizes(value, 4);
    option = {p[0], p[1], p[2], p[3]};
  }
}
GLIA_INLINE void option_reader::read(const stored_value& value, padding3d& option) const {
  if (*value.json == "valid") {
    option = valid;
  } else if (*value.json == "same") {
    option = same;
  } else {
    const std::vector<std::size_t> p = sizes(value, 6);
    option = {p[0], p[1], p[2], p[3], p[4], p[5]};
  }
}
GLIA_INLINE void option_reader::read(const stored_value& value, activation& option) const {
  std::string name;
  read(value, name);
  const std::size_t bracket = name.find('(');
  for (const activation& known :
       {linear, relu, relu6, leaky_relu, elu, gelu, silu, sigmoid, tanh, softmax}) {
    if (name == known.description()) {
      option = known;
      return;
    }
    double parameter = 0;
    if (bracket != std::string::npos && name.substr(0, bracket) == known.name &&
        known.description() != known.name &&
        parse_number(name.data() + bracket + 1, name.data() + name.size(), parameter).ec ==
            std::errc{} &&
        parameter >= 0 && std::isfinite(parameter)) {
      option = known(parameter);
      return;
    }
  }
  fail(value, "the name of an activation of glia");
}

/// Returns the number of brackets inside of each other in a JSON text.
[[nodiscard]] inline std::size_t nesting(std::string_view json) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_text) {
      i += json[i] == '\\' ? 1 : 0;
      in_text = json[i < json.size() ? i : json.size() - 1] != '"';
    } else if (json[i] == '"') {
      in_text = true;
    } else if (json[i] == '[' || json[i] == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((json[i] == ']' || json[i] == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

/// Calls a function, and turns its errors into `data_error` with the name of the file.
template <class Function>
[[nodiscard]] auto of_file(const std::string& file, const Function& function) {
  try {
    return function();
  } catch (const value_error& e) {
    throw data_error(text(file, ": the network in the file is wrong: ", e.what()));
  } catch (const shape_error& e) {
    throw data_error(text(file, ": the network in the file is wrong: ", e.what()));
  } catch (const std::bad_alloc&) {
    throw data_error(text(file, ": there is not enough memory for the network in the file"));
  } catch (const std::length_error&) {
    throw data_error(text(file, ": there is not enough memory for the network in the file"));
  }
}

GLIA_INLINE stored_network read_network(const std::string& file,
                                        const std::map<std::string, std::string>& metadata,
                                        const std::vector<layer_type>& own_layers) {
  const auto kind = metadata.find("glia");
  require<data_error>(kind == metadata.end() || kind->second != checkpoint_file, file,
                      ": the file is a checkpoint of a training, which does not describe the "
                      "network; describe it in the program, and use glia::load and glia::save");
  const auto entry = metadata.find(std::string(network_key));
  require<data_error>(
      entry != metadata.end(), file,
      ": the file does not describe the network, because an earlier version of glia or "
      "another program wrote it; describe the network in the program, and use "
      "glia::load, or glia::load_parameters for files of other programs");
  constexpr std::size_t deepest = 1000;
  require<data_error>(nesting(entry->second) <= deepest, file,
                      ": the description of the network has more than ", deepest,
                      " brackets inside of each other; the file is damaged");
  const nlohmann::json whole = nlohmann::json::parse(entry->second, nullptr, false);
  require<data_error>(whole.is_object() && whole.contains("version"), file,
                      ": the description of the network is not valid JSON; the file is damaged");
  require<data_error>(whole["version"] == 1, file,
                      ": expected version 1 of the description of a network, got ",
                      whole["version"].dump(), "; the file was written by a newer version of glia");
  option_reader::source description{file, own_layers};
  return of_file(file, [&] {
    stored_network result;
    option_reader options(description, {&whole, "network"});
    std::size_t version = 0;
    options("version", version);
    options("sample", result.sample);
    options("layer", result.layers);
    options.require_all_read();
    constexpr std::size_t largest_sample = std::size_t{1} << 26;
    require<data_error>(
        fits_memory(result.sample, sizeof(float)) && result.sample.size() <= largest_sample, file,
        ": expected samples of at most ", largest_sample, " numbers, got ", result.sample);
    return result;
  });
}

GLIA_INLINE model_plan plan_network(const std::string& file, const stored_network& network,
                                    const device& target) {
  constexpr std::size_t most_layers = 20'000;
  std::size_t layers = 0;
  const auto count = [&](const std::string&, variable&) {
    require<data_error>(++layers <= most_layers, file, ": the network has more than ", most_layers,
                        " layers");
  };
  const layer_probe probe(count);
  const auto describe = [&](scope& s, variable x) {
    s.set_probe(probe);
    return s.run_model(network.layers, std::move(x));
  };
  return of_file(file, [&] {
    model_plan result = plan(describe, network.sample, target.fused());
    result.description = network.layers.description();
    return result;
  });
}

/// Throws `data_error` if a model computes other outputs for the example of its file.
inline void require_example(const std::string& file, const model<any_layer>& net,
                            const std::vector<named_tensor>& example, double tolerance) {
  if (example.empty()) {
    return;
  }
  const auto tensor_called = [&](std::string_view name) {
    const auto found = std::find_if(example.begin(), example.end(),
                                    [&](const named_tensor& t) { return t.name == name; });
    require<data_error>(found != example.end(), file, ": there is no tensor '", name,
                        "'; the file is damaged");
    return found;
  };
  const auto inputs = tensor_called(example_inputs);
  const auto outputs = tensor_called(example_outputs);
  const std::size_t rows = inputs->shape.rank() == 0 ? 0 : inputs->shape[0];
  require<data_error>(rows > 0 && inputs->shape == batch_of(rows, net.sample_shape()) &&
                          outputs->shape == batch_of(rows, net.output_shape()),
                      file, ": the example does not fit the network; the file is damaged");
  const std::vector<float> x = inputs->as<float>();
  const std::vector<float> expected = outputs->as<float>();
  std::vector<float> y(expected.size());
  net.core().predict<float>(x, y, batch_size_for(0, net.sample_shape()));
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (y[i] == expected[i] || (std::isnan(y[i]) && std::isnan(expected[i]))) {
      continue;
    }
    const double distance = std::abs(static_cast<double>(y[i]) - expected[i]);
    difference = std::isfinite(distance) ? std::max(difference, distance)
                                         : std::numeric_limits<double>::infinity();
  }
  for (const float number : expected) {
    largest = std::max(largest, std::isfinite(number) ? std::abs(static_cast<double>(number)) : 0);
  }
  require<data_error>(
      difference <= tolerance * largest, file,
      ": the model computes other outputs than when it was saved: for the example in the file, "
      "they differ by up to ",
      difference, ", and the largest output is ", largest, "; the tolerance is ", tolerance,
      " of it. Compare the versions of glia and the processors; if the difference is harmless, set "
      "open_options::tolerance");
}

GLIA_INLINE opened_file open_file(const file_source& source, const open_options& options) {
  const bool maps = options.in_place && !source.is_memory();
  const auto mapping = maps ? std::make_shared<const mapped_file>(source.path()) : nullptr;
  const file_source file = maps ? file_source(mapping->bytes(), source.name()) : source;
  std::vector<named_tensor> example;
  safetensors_content content = read_model_file(file, &example);
  if (content.metadata.contains("glia")) {
    require_model(file.name(), content);
  }
  stored_network network = read_network(file.name(), content.metadata, options.layers);
  std::map<std::string, shared_floats> in_place;
  if (options.in_place) {
    in_place = safetensors_reader(file).floats_in(file.bytes(), mapping);
  }
  model_plan plan = plan_network(file.name(), network, options.device);
  std::vector<tensor> tensors =
      tensors_for(file.name(), content, plan.parameters, options.device, in_place);
  parameter_list parameters;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    parameters.push_back({plan.parameters[i], std::move(tensors[i])});
  }
  model<any_layer> net(std::move(network.layers), std::move(plan), std::move(parameters),
                       network.sample, options.device);
  require_example(file.name(), net, example, options.tolerance);
  return {std::move(net), metadata_of_users(std::move(content.metadata))};
}

}  // namespace detail

GLIA_INLINE model<any_layer> open(const file_source& source, const open_options& options) {
  return detail::open_file(source, options).net;
}

}  // namespace glia
