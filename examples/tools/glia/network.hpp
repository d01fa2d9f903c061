#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/open.hpp>
#include <glia/onnx.hpp>
#include <glia/training/profile.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "file_format.hpp"

/// How a network in a file is opened.
struct network_options {
  std::size_t threads = 0;  ///< Threads of the cpu; 0: one per core.
  std::vector<std::string>
      layers{};         ///< Outputs or layers of an ONNX file to show; empty: its outputs.
  bool images = false;  ///< Whether samples are images, with their channels last.
};

inline void add_network_option(CLI::App& command, std::filesystem::path& network) {
  command.add_option("network", network, "ONNX file, or file of glia::save")
      ->type_name("FILE")
      ->required();
}

inline void add_batch_option(CLI::App& command, std::size_t& batch, const std::string& purpose) {
  command.add_option("--batch", batch, purpose)->check(CLI::Range(1, 65536));
}

inline void add_threads_option(CLI::App& command, std::size_t& threads) {
  command.add_option("--threads", threads, "Threads of the processor; 0: one per core")
      ->check(CLI::Range(0, 4096));
}

/// Returns a shape as a list of numbers.
[[nodiscard]] inline json_document shape_document(const glia::shape& extents) {
  return json_document(std::vector<std::size_t>(extents.begin(), extents.end()));
}

/// A network in a file of `glia::save` or in an ONNX file, ready for predictions.
class network {
 public:
  explicit network(std::filesystem::path path, const network_options& options = {})
      : path_(std::move(path)),
        device_({.threads = options.threads}),
        net_(naming_file(path_, [&] { return open(options); })) {}

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] const glia::model<glia::any_layer>& model() const { return net_; }
  /// The ONNX file, or null if `glia::save` wrote the file.
  [[nodiscard]] const glia::onnx_model* onnx() const { return onnx_ ? &*onnx_ : nullptr; }
  [[nodiscard]] std::size_t threads() const { return device_.threads(); }
  [[nodiscard]] std::size_t inputs() const { return net_.sample_shape().size(); }
  [[nodiscard]] std::size_t outputs() const { return net_.output_shape().size(); }
  /// The number of classes, if the outputs are classes. One output distinguishes two classes.
  [[nodiscard]] std::size_t classes() const { return outputs() == 1 ? 2 : outputs(); }
  [[nodiscard]] glia::output_kind output_kind() const { return net_.plan().gives; }
  /// The metadata of the file, without those of glia.
  [[nodiscard]] std::map<std::string, std::string> metadata() const {
    return onnx_ ? onnx_->metadata() : glia::read_metadata(path_);
  }

  /// Computes the outputs y for the samples x in batches, and records the time in `profile` if it
  /// is not null.
  void run(std::span<const float> x, std::vector<float>& y, std::size_t batch,
           glia::profile* profile = nullptr) {
    const std::size_t count = x.size() / inputs();
    y.resize(count * outputs());
    for (std::size_t first = 0; first < count; first += batch) {
      const std::size_t rows = std::min(batch, count - first);
      const auto& ready = prepared_for(rows);
      glia::timeline times;
      const auto start = std::chrono::steady_clock::now();
      ready.run(x.subspan(first * inputs(), rows * inputs()),
                std::span(y).subspan(first * outputs(), rows * outputs()),
                profile == nullptr ? nullptr : &times);
      if (profile != nullptr) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        profile->add(times, took.count());
      }
    }
  }

 private:
  [[nodiscard]] glia::model<glia::any_layer> open(const network_options& options) {
    const file_format format = format_of(path_);
    if (format == file_format::safetensors) {
      if (!options.layers.empty()) {
        throw usage_error("--layer is for ONNX files, but " + path_.string() +
                          " was written by glia::save");
      }
      return glia::open(path_, {.device = device_});
    }
    glia::require<glia::data_error>(
        format == file_format::onnx, path_.string(),
        ": expected a network, an ONNX file or a file "
        "that glia::save wrote, got ",
        name_of(format),
        format == file_format::hdf5
            ? R"(; Keras exports the whole network with model.export("net.onnx", format="onnx"))"
            : "; glia info describes any file");
    onnx_.emplace(path_, glia::onnx_model_options{.outputs = options.layers});
    if (options.images && onnx_->takes_channels_first()) {
      onnx_.emplace(path_,
                    glia::onnx_model_options{.channels_last = true, .outputs = options.layers});
    }
    return {glia::any_layer(*onnx_), onnx_->sample_shape(), device_};
  }
  [[nodiscard]] const glia::prepared& prepared_for(std::size_t rows) {
    if (!ready_ || ready_rows_ != rows) {
      ready_ = net_.prepare({.batch_size = rows});
      ready_rows_ = rows;
    }
    return *ready_;
  }

  std::filesystem::path path_;
  glia::cpu<float> device_;
  std::optional<glia::onnx_model> onnx_;
  glia::model<glia::any_layer> net_;
  std::size_t ready_rows_ = 0;
  std::optional<glia::prepared> ready_;
};

/// The properties of a network in its metadata, and options that replace them.
struct info_options {
  std::filesystem::path classes;
  std::vector<float> mean, std;
  bool crop = false;
};

/// Returns the class names and the preprocessing of images of a network.
[[nodiscard]] inline glia::model_info info_of(const network& net, const info_options& options) {
  glia::model_info info =
      naming_file(net.path(), [&] { return glia::model_info::from_metadata(net.metadata()); });
  if (!options.classes.empty()) {
    std::ifstream lines(options.classes);
    glia::require<glia::data_error>(lines.is_open(), options.classes.string(),
                                    ": the file cannot be opened for reading");
    info.class_names.clear();
    for (std::string line; std::getline(lines, line);) {
      info.class_names.push_back(line);
    }
    glia::require<glia::data_error>(info.class_names.size() == net.classes(),
                                    options.classes.string(), ": has the names of ",
                                    info.class_names.size(), " classes, but ", net.path().string(),
                                    " has outputs for ", net.classes());
  }
  if (info.class_names.size() != net.classes()) {
    info.class_names.clear();  // names of the file's own outputs, not of the chosen layer
  }
  const auto take = [](const std::vector<float>& source, std::array<float, 3>& destination) {
    if (source.size() == 2) {
      throw usage_error("--mean and --std expect one number or three, got two");
    }
    for (std::size_t c = 0; c < 3 && !source.empty(); ++c) {
      destination[c] = source[source.size() == 1 ? 0 : c];
    }
  };
  take(options.mean, info.mean);
  take(options.std, info.std);
  info.crop = info.crop || options.crop;
  return info;
}
