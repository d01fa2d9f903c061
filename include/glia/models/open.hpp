#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "glia/core/file_source.hpp"
#include "glia/layers/any_layer.hpp"
#include "glia/layers/layers.hpp"
#include "glia/models/model.hpp"

namespace glia {

namespace detail {

class option_reader;

}  // namespace detail

/// A type of layer that `open` can make from its name and its options in a file.
///
///     const auto net = glia::open("net.safetensors", {.layers = {glia::layer_type::of<scale>()}});
class layer_type {
 public:
  /// Returns the entry for layers of type `Layer`, which must be default-initializable. The type
  /// has a static member `type_name`, the name in files. If it has options, it has a static member
  /// function that names them:
  ///
  ///     template <class Self, class Visit>
  ///     static void visit_options(Self& self, Visit& visit) {
  ///       visit("factor", self.factor);
  ///     }
  ///
  /// An option can be a `bool`, `int`, `std::size_t`, `float`, `double`, `std::string`, `shape`,
  /// `activation` or `any_layer`, an option of glia's own layers, or a vector of these. A file
  /// without an option leaves the value of a new object unchanged, so that you can add options
  /// later.
  template <layer Layer>
  requires std::default_initializable<Layer>
  [[nodiscard]] static layer_type of() {
    static_assert(!detail::stored_type<Layer>().empty(),
                  "layer_type: expected a layer with a static member type_name and, if it has "
                  "members, a static member function visit_options");
    return {detail::stored_type<Layer>(), &make<Layer>};
  }

  /// The name of the type in files.
  [[nodiscard]] std::string_view name() const { return name_; }
  /// Makes a layer from its options in a file.
  [[nodiscard]] any_layer read(detail::option_reader& options) const { return read_(options); }

 private:
  using read_function = any_layer (*)(detail::option_reader&);

  layer_type(std::string_view name, read_function reads) : name_(name), read_(reads) {}

  template <class Layer>
  [[nodiscard]] static any_layer make(detail::option_reader& options);

  std::string_view name_;
  read_function read_;
};

/// The options of `open`.
struct open_options {
  glia::device device = cpu<float>();  ///< Device that the model runs on.
  /// Types of your own layers that the network contains.
  std::vector<layer_type> layers = {};
  /// Largest difference between the outputs of the example in the file and those of the opened
  /// model, relative to the largest absolute value of the outputs in the file. See
  /// `save_options::example`.
  double tolerance = 1e-3;
  /// Whether the parameters stay in the file or in the bytes in memory and are not copied, as far
  /// as they are aligned to 64 bytes, the processor is little-endian and the device computes with
  /// floats in host memory. Processes that open the same file then share its memory. The file must
  /// not be changed, and the bytes must exist, as long as the model and its copies. A training
  /// copies the parameters first.
  bool in_place = false;
};

/// Opens a model that `save` wrote. The file describes the network, so the
/// program does not have to contain it.
///
///     const auto net = glia::open("net.safetensors");
///     const auto y = net.predict(x);
///
/// The model has the parameters and the predictions of the model that was saved, and can be trained
/// further. List your own layers in `open_options::layers`. `sync_batch_norm` becomes
/// `batch_norm`.
///
/// If the file has an example, `open` computes its outputs and compares them. This detects a
/// processor, a BLAS or a version of glia that gives other results.
///
/// Throws `data_error`, with the path, if the file is damaged or was not written by `save`; if it
/// contains a layer that cannot be described, with the name of the layer; or if the outputs of its
/// example differ. Needs nlohmann-json: link `glia::safetensors`.
[[nodiscard]] model<any_layer> open(const file_source& source, const open_options& options = {});

namespace detail {

/// A value of a description in a file: a part of a JSON text and its place, for messages.
struct stored_value {
  const nlohmann::json* json = nullptr;
  std::string place;
};

/// Reads the options of a layer, join or part from an object of a JSON text that `option_writer`
/// wrote.
class option_reader {
 public:
  /// The text that contains the object.
  struct source {
    std::string file;                // for messages
    std::vector<layer_type> layers;  // of the program
    std::size_t depth = 0;           // number of objects around the current one
  };

  option_reader(source& text, stored_value object) : text_(&text), object_(std::move(object)) {}

  /// Reads an option. If the object does not have it, the option keeps its value.
  template <class T>
  void operator()(std::string_view name, T& option) {
    const stored_value found = find(name);
    if (found.json != nullptr) {
      read(found, option);
    }
  }
  /// Returns whether the object has an option.
  [[nodiscard]] bool has(std::string_view name) const;
  /// Throws `data_error` if the object has an option that was not read.
  void require_all_read() const;

  /// Reads the layer of a whole network.
  [[nodiscard]] any_layer read_layer(const stored_value& value);

 private:
  [[nodiscard]] stored_value find(std::string_view name);
  [[noreturn]] void fail(const stored_value& value, std::string_view expected) const;
  /// Returns the elements of an array.
  [[nodiscard]] std::vector<stored_value> items(const stored_value& value) const;
  /// Returns an array of `count` sizes.
  [[nodiscard]] std::vector<std::size_t> sizes(const stored_value& value, std::size_t count) const;
  /// Returns the type that an object or text names.
  [[nodiscard]] std::string type_of(const stored_value& value) const;

  void read(const stored_value& value, bool& option) const;
  void read(const stored_value& value, std::size_t& option) const;
  void read(const stored_value& value, int& option) const;
  void read(const stored_value& value, float& option) const;
  void read(const stored_value& value, double& option) const;
  void read(const stored_value& value, std::string& option) const;
  void read(const stored_value& value, shape& option) const;
  void read(const stored_value& value, extent2d& option) const;
  void read(const stored_value& value, extent3d& option) const;
  void read(const stored_value& value, border2d& option) const;
  void read(const stored_value& value, padding1d& option) const;
  void read(const stored_value& value, padding2d& option) const;
  void read(const stored_value& value, padding3d& option) const;
  void read(const stored_value& value, activation& option) const;
  void read(const stored_value& value, any_layer& option) { option = read_layer(value); }
  template <has_options T>
  void read(const stored_value& value, T& option) {
    option_reader options(*text_, value);
    if constexpr (described<T>) {
      if (options.find_type() != stored_type<T>()) {
        fail(value, stored_type<T>());
      }
    }
    T::visit_options(option, options);
    options.require_all_read();
  }
  template <class T>
  void read(const stored_value& value, std::vector<T>& option) {
    option.clear();
    for (const stored_value& item : items(value)) {
      read(item, option.emplace_back());
    }
  }
  template <class... T>
  void read(const stored_value& value, std::variant<T...>& option) {
    const std::string type = type_of(value);
    if (!(read_alternative<T>(value, type, option) || ...)) {
      fail(value, "a layer or join that is allowed here");
    }
  }
  template <class T, class Variant>
  [[nodiscard]] bool read_alternative(const stored_value& value, const std::string& type,
                                      Variant& option) {
    if (type != stored_type<T>()) {
      return false;
    }
    T alternative{};
    if constexpr (has_options<T> || std::same_as<T, activation>) {
      read(value, alternative);
    }
    option = std::move(alternative);
    return true;
  }
  /// Returns the type of this object.
  [[nodiscard]] std::string find_type();

  source* text_;
  stored_value object_;
  std::vector<std::string> asked_;
};

/// The network that a file describes.
struct stored_network {
  any_layer layers;
  shape sample;
};

/// Returns the network that the metadata of a file describe. Throws `data_error` as `open` does.
[[nodiscard]] stored_network read_network(const std::string& file,
                                          const std::map<std::string, std::string>& metadata,
                                          const std::vector<layer_type>& own_layers);

/// A model from a file, and the texts that `save` stored with it.
struct opened_file {
  model<any_layer> net;
  std::map<std::string, std::string> metadata;
};

/// Opens a model with its metadata; see `open`.
[[nodiscard]] opened_file open_file(const file_source& source, const open_options& options);

/// Plans a network in a file for a device. Throws `data_error`, with the name of the file, if the
/// layers do not fit together.
[[nodiscard]] model_plan plan_network(const std::string& file, const stored_network& network,
                                      const device& target);

/// Returns the layers of glia that `open` makes and that are no templates.
[[nodiscard]] const std::vector<layer_type>& known_layer_types();
/// Returns whether `open` makes compositions of this name from `any_layer`.
[[nodiscard]] bool is_known_composition(std::string_view name);

}  // namespace detail

template <class Layer>
any_layer layer_type::make(detail::option_reader& options) {
  Layer result{};
  if constexpr (detail::has_options<Layer>) {
    Layer::visit_options(result, options);
  }
  return any_layer(std::move(result));
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/open_impl.hpp"
#endif
