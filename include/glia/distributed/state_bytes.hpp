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

/// Calls each(member) for the members of a training state and of the types in it, in the order in
/// which they are written and read.
template <class Each>
void for_each_part(const Each& each, auto& state) requires requires {
  state.tensors;
}
{
  each(state.tensors), each(state.seed), each(state.step), each(state.learning_rate_scale);
  each(state.epoch), each(state.position), each(state.samples), each(state.batch_size);
  each(state.shuffled), each(state.metrics), each(state.sums), each(state.seconds);
  each(state.optimizer), each(state.setup), each(state.history), each(state.kept);
}
template <class Each>
void for_each_part(const Each& each, auto& tensor) requires requires {
  tensor.values;
}
{ each(tensor.name), each(tensor.shape), each(tensor.values); }
template <class Each>
void for_each_part(const Each& each, auto& record) requires requires {
  record.validation;
}
{
  each(record.epoch), each(record.samples), each(record.seconds);
  each(record.samples_per_second), each(record.learning_rate);
  each(record.training), each(record.validation);
}
template <class Each>
void for_each_part(const Each& each, auto& scores) requires requires {
  scores.metric_names;
}
{ each(scores.loss), each(scores.metric_values), each(scores.metric_names); }

/// Appends the bytes of values to a string.
struct byte_writer {
  std::string* to;

  template <class T>
  void operator()(const T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      to->append(reinterpret_cast<const char*>(&value), sizeof(T));
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
  std::string_view* from;

  template <class T>
  void operator()(T& value) const {
    if constexpr (std::is_arithmetic_v<T>) {
      require<value_error>(from->size() >= sizeof(T), "the received training state is incomplete");
      std::memcpy(&value, from->data(), sizeof(T));
      from->remove_prefix(sizeof(T));
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
