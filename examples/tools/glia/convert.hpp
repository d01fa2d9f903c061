#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <filesystem>
#include <glia/core/number_text.hpp>
#include <glia/io/keras_weights.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/parameters.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/onnx.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "../../program.hpp"
#include "command.hpp"
#include "comparison.hpp"
#include "file_format.hpp"
#include "network.hpp"

struct convert_settings {
  std::filesystem::path source, target;
  bool channels_first = false, json = false;
};

/// Returns the options of `write_onnx` that keep the interface and the metadata of a network.
[[nodiscard]] inline glia::onnx_options onnx_options_of(const network& net) {
  return net.onnx() != nullptr ? net.onnx()->write_options()
                               : glia::onnx_options{.metadata = net.metadata()};
}

/// Writes a network to an ONNX file, reads the file again and compares the outputs. Returns the
/// difference, relative to the outputs, or nothing if both files cannot take the same samples.
[[nodiscard]] inline std::optional<double> convert_to_onnx(const convert_settings& s) {
  network net(s.source);
  if (s.channels_first && net.onnx() != nullptr) {
    throw usage_error("--channels-first is for files of glia::save; " + s.source.string() +
                      " is an ONNX file, whose order of axes is kept");
  }
  glia::onnx_options options = onnx_options_of(net);
  options.channels_first = options.channels_first || s.channels_first;
  naming_file(s.source, [&] { glia::write_onnx(net.model(), s.target, options); });
  // Images (N, C, H, W) of the file are read as (N, H, W, C), the order of the network.
  network written(s.target, {.images = s.channels_first});
  if (written.model().sample_shape() != net.model().sample_shape()) {
    return std::nullopt;  // the channels of the samples are first in one file, last in the other
  }
  constexpr std::size_t count = 4;
  const std::vector<float> x = random_samples(net, count);
  std::vector<float> expected;
  std::vector<float> y;
  net.run(x, expected, count);
  written.run(x, y, count);
  return compare_outputs(expected, y, net.outputs()).relative_difference;
}

/// Writes tensors and metadata to a safetensors file.
inline void write_tensors(const std::filesystem::path& path, const glia::tensor_map& tensors,
                          const std::map<std::string, std::string>& metadata) {
  glia::safetensors_content content{.tensors = {}, .metadata = metadata};
  for (const auto& [name, values] : tensors) {
    content.tensors.push_back(glia::detail::array_tensor(name, values));
  }
  glia::write_safetensors_content(path, content);
}

/// Writes the tensors of a file to a safetensors file. Returns their number.
[[nodiscard]] inline std::size_t convert_to_safetensors(const convert_settings& s) {
  const file_format format = format_of(s.source);
  const auto written = [&](const glia::tensor_map& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    glia::require<glia::data_error>(
        tensors.unreadable().empty(), s.source.string(), ": ",
        tensors.unreadable().empty() ? std::string() : tensors.unreadable().begin()->second);
    write_tensors(s.target, tensors, metadata);
    return tensors.size();
  };
  if (format == file_format::onnx) {
    const network net(s.source);
    return written(glia::parameters_of(net.model()), net.metadata());
  }
  if (format == file_format::hdf5) {
    end_hdf5_quietly();
    return written(glia::read_keras_weights(s.source));
  }
  glia::require<glia::data_error>(
      format != file_format::safetensors, s.source.string(),
      ": is a safetensors file already; glia convert writes it as .onnx");
  glia::require<glia::data_error>(
      format == file_format::zip && extension_of(s.source) != ".keras", s.source.string(),
      ": expected an ONNX file, Keras weights (.h5) or an archive of NumPy (.npz), got ",
      name_of(format),
      extension_of(s.source) == ".keras"
          ? "; extract model.weights.h5 from it with unzip, and convert that file"
          : "");
  return written(glia::read_npz(s.source));
}

inline int convert(const convert_settings& s) {
  const std::string extension = extension_of(s.target);
  if (extension != ".onnx" && extension != ".safetensors") {
    throw usage_error(
        s.target.string() + ": expected a file that ends in .onnx or .safetensors" +
        (extension == ".h5" || extension == ".keras"
             ? "; glia does not write HDF5. Write .safetensors, and load it in Python "
               "with safetensors.numpy.load_file and layer.set_weights"
             : ""));
  }
  static_cast<void>(format_of(s.source));  // throws if it cannot be read
  std::error_code ignored;
  if (std::filesystem::equivalent(s.source, s.target, ignored)) {
    throw usage_error(s.target.string() + ": the source and the target are the same file");
  }
  require_writable(s.target);
  json_document document{{"source", s.source.string()}, {"target", s.target.string()}};
  std::string words;
  if (extension == ".onnx") {
    const std::optional<double> difference =
        naming_file(s.source, [&] { return convert_to_onnx(s); });
    constexpr double tolerance = 1e-4;
    glia::require<glia::data_error>(!difference || *difference <= tolerance, s.target.string(),
                                    ": was written, but its outputs for random samples differ from "
                                    "those of ",
                                    s.source.string(), " by ", difference.value_or(0),
                                    " of their size; please report this as a bug");
    words = "the network with its weights";
    if (difference) {
      document["relative_difference"] = *difference;
      words += *difference == 0 ? "; the outputs for random samples have the same bits"
                                : "; the outputs for random samples differ by " +
                                      glia::digits_text(*difference, 2) + " of their size";
    }
  } else {
    const std::size_t count = naming_file(s.source, [&] { return convert_to_safetensors(s); });
    document["tensors"] = count;
    words = glia::text(count, count == 1 ? " tensor" : " tensors",
                       ", without the network; glia::load_parameters loads them into a model");
  }
  document["bytes"] = std::filesystem::file_size(s.target);
  if (s.json) {
    print_json(document);
  } else {
    std::cout << s.target.string() << ": " << words << '\n';
  }
  return exit_fine;
}

inline void add_convert(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<convert_settings>();
  CLI::App& command = add_command(app, action, "convert",
                                  "Write a network or its weights in another format", s, &convert);
  command.add_option("source", s->source, "ONNX, safetensors, Keras .h5 or .npz file")
      ->type_name("FILE")
      ->required();
  command.add_option("target", s->target, "File that ends in .onnx or .safetensors")
      ->type_name("FILE")
      ->required();
  command.add_flag("--channels-first", s->channels_first,
                   "Images are (N, C, H, W) in the ONNX file, not (N, H, W, C)");
  add_json_option(command, s->json);
  command.footer(
      "A file of glia::save becomes an ONNX file. An ONNX file becomes a safetensors file with "
      "its\n"
      "weights, or a new ONNX file of opset 17 for inference. Weights of Keras and archives of "
      "NumPy\n"
      "become safetensors files. Class names and other metadata are kept.\n\n"
      "Examples:\n"
      "  glia convert net.safetensors net.onnx --channels-first\n"
      "  glia convert model.weights.h5 weights.safetensors");
}
