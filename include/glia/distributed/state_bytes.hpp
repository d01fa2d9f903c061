#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/training/training_state.hpp"

namespace glia {

namespace detail {

/// Calls visit(member) for the members of a training state and of the types in it, in the order in
/// which they are written and read.
template <class Visit>
void for_each_part(const Visit& visit, auto& state) requires requires {
  state.tensors;
}
{
  visit(state.tensors), visit(state.seed), visit(state.step), visit(state.learning_rate_scale);
  visit(state.epoch), visit(state.position), visit(state.samples), visit(state.batch_size);
  visit(state.shuffled), visit(state.metrics), visit(state.sums), visit(state.seconds);
  visit(state.optimizer), visit(state.setup), visit(state.history), visit(state.callback_state);
}
template <class Visit>
void for_each_part(const Visit& visit, auto& tensor) requires requires {
  tensor.values;
}
{ visit(tensor.name), visit(tensor.shape), visit(tensor.values); }
template <class Visit>
void for_each_part(const Visit& visit, auto& record) requires requires {
  record.validation;
}
{
  visit(record.epoch), visit(record.samples), visit(record.seconds);
  visit(record.samples_per_second), visit(record.learning_rate);
  visit(record.training), visit(record.validation);
}
template <class Visit>
void for_each_part(const Visit& visit, auto& scores) requires requires {
  scores.metric_names;
}
{ visit(scores.loss), visit(scores.metric_values), visit(scores.metric_names); }

/// Appends the bytes of values to a string.
struct byte_writer {
  std::string* bytes;

  template <class T>
  void operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
    } else if constexpr (requires { value.begin(); }) {
      (*this)(value.size());
      for (const auto& element : value) {
        (*this)(element);
      }
    } else if constexpr (requires { value.has_value(); }) {
      (*this)(value.has_value());
      if (value) {
        (*this)(*value);
      }
    } else if constexpr (requires { value.index(); }) {
      (*this)(value.index());
      std::visit(*this, value);
    } else {
      for_each_part(*this, value);
    }
  }
  void operator()(const shape& s) const { (*this)(std::vector<std::size_t>(s.begin(), s.end())); }
};

/// Reads values that byte_writer wrote.
struct byte_reader {
  std::string_view* bytes;

  template <class T>
  void operator()(T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      require<value_error>(bytes->size() >= sizeof(T), "the received training state is incomplete");
      std::memcpy(&value, bytes->data(), sizeof(T));
      bytes->remove_prefix(sizeof(T));
    } else if constexpr (requires { value.resize(0); }) {
      value.resize(read<std::size_t>());
      for (auto& element : value) {
        (*this)(element);
      }
    } else if constexpr (requires { value.has_value(); }) {
      if (read<bool>()) {
        (*this)(value.emplace());
      } else {
        value.reset();
      }
    } else {
      for_each_part(*this, value);
    }
  }
  void operator()(shape& s) const {
    const auto extents = read<std::vector<std::size_t>>();
    s = shape(extents.begin(), extents.end());
  }
  void operator()(std::variant<std::vector<float>, std::vector<double>>& values) const {
    values = read<std::size_t>() == 0
                 ? std::variant<std::vector<float>, std::vector<double>>(read<std::vector<float>>())
                 : read<std::vector<double>>();
  }

 private:
  template <class T>
  [[nodiscard]] T read() const {
    T value{};
    (*this)(value);
    return value;
  }
};

}  // namespace detail

/// Converts a training state to bytes for another process that runs the same program.
[[nodiscard]] inline std::string bytes_of(const training_state& state) {
  std::string bytes;
  const detail::byte_writer write{&bytes};
  write(state);
  return bytes;
}
/// Converts the bytes that `bytes_of` returned back to a training state. Throws `value_error` if
/// they are incomplete or too long.
[[nodiscard]] inline training_state state_of(std::string_view bytes) {
  training_state state;
  const detail::byte_reader read{&bytes};
  read(state);
  require<value_error>(bytes.empty(), "the received training state is too long");
  return state;
}

}  // namespace glia
