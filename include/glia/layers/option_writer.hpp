#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "glia/core/described.hpp"
#include "glia/core/shape.hpp"
#include "glia/layers/activation.hpp"
#include "glia/layers/layer_concepts.hpp"
#include "glia/layers/resize.hpp"
#include "glia/layers/window.hpp"
#include "glia/layers/window1d.hpp"
#include "glia/layers/window3d.hpp"

namespace glia::detail {

/// A function of an option, for the concept below.
struct any_option_visitor {
  template <class T>
  void operator()(std::string_view name, const T& value);
};

/// A type with a static member function `visit_options(self, visit)`, which calls visit(name,
/// option) for each option that files store.
template <class T>
concept has_options = requires(const T& self, any_option_visitor& visit) {
  T::visit_options(self, visit);
};

/// The name of a type in files, or an empty text if files cannot describe the type. It is the
/// static member `stored_type` or, for types with options and for empty types, `type_name`.
template <class T>
[[nodiscard]] constexpr std::string_view stored_type() {
  if constexpr (requires { T::stored_type; }) {
    return T::stored_type;
  } else if constexpr (requires { T::type_name; } && (has_options<T> || std::is_empty_v<T>)) {
    return T::type_name;
  } else {
    return {};
  }
}

/// Writes layers with their options as a JSON text. `option_reader` reads it.
class option_writer {
 public:
  /// Writes an option. Initializers are no options, because a file has the values of parameters.
  template <class T>
  void operator()(std::string_view name, const T& value) {
    begin_option(name);
    write(value);
  }

  /// Writes a layer or a join as an object: its type and its options. A layer that files cannot
  /// describe is written as an object with its description.
  template <described T>
  void write(const T& layer) {
    if constexpr (requires { layer.store(*this); }) {
      layer.store(*this);
    } else if constexpr (stored_type<T>().empty()) {
      text_ += '{';
      (*this)("description", layer.description());
      text_ += '}';
    } else {
      text_ += '{';
      (*this)("type", std::string(stored_type<T>()));
      if constexpr (has_options<T>) {
        T::visit_options(layer, *this);
      }
      text_ += '}';
    }
  }
  /// Writes the parts of a layer that are no layers, such as the inputs of `inputs`.
  template <has_options T>
  requires(!described<T>) void write(const T& part) {
    text_ += '{';
    T::visit_options(part, *this);
    text_ += '}';
  }
  template <class... T>
  void write(const std::tuple<T...>& items) {
    text_ += '[';
    std::apply([&](const auto&... item) { (write_item(item), ...); }, items);
    text_ += ']';
  }
  template <class T>
  void write(const std::vector<T>& items) {
    text_ += '[';
    for (const T& item : items) {
      write_item(item);
    }
    text_ += ']';
  }
  template <class... T>
  void write(const std::variant<T...>& any) {
    std::visit([&](const auto& value) { write(value); }, any);
  }
  template <class T>
  requires(std::is_arithmetic_v<T>) void write(T number) {
    if constexpr (std::same_as<T, bool>) {
      text_ += number ? "true" : "false";
    } else if constexpr (std::integral<T>) {
      text_ += std::to_string(number);
    } else {
      write_number(static_cast<double>(number));
    }
  }
  void write(const std::string& text);
  void write(const shape& s);
  void write(const extent2d& e) { write(std::vector{e.height, e.width}); }
  void write(const extent3d& e) { write(std::vector{e.depth, e.height, e.width}); }
  void write(const border2d& b) { write(std::vector{b.top, b.bottom, b.left, b.right}); }
  void write(const padding1d& p);
  void write(const padding2d& p);
  void write(const padding3d& p);
  /// Writes the name of an activation, and its parameter if it has one: leaky_relu(0.2).
  void write(const activation& a);

  /// The text so far.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void begin_option(std::string_view name) {
    begin_item();
    text_ += '"';
    text_ += name;
    text_ += "\":";
  }
  void begin_item() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[') {
      text_ += ',';
    }
  }
  /// Writes a number with all digits. Numbers that JSON does not have are texts: inf, -inf and nan.
  void write_number(double number);
  template <class T>
  void write_item(const T& item) {
    begin_item();
    write(item);
  }

  std::string text_;
};

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/layers/option_writer_impl.hpp"
#endif
