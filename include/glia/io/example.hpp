#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/utf8.hpp"
#include "glia/io/protobuf_message.hpp"
#include "glia/io/protobuf_reader.hpp"

namespace glia {

/// What an example knows of one thing: texts or bytes, floats, or integers.
using feature =
    std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

/// What TensorFlow's message Example (tensorflow/core/example/example.proto) says: named features.
/// Records of TFRecord files are mostly such messages.
///
///     glia::example e;
///     e.features["class"] = std::vector<std::int64_t>{3};
///     e.features["image"] = std::vector<std::string>{bytes_of_a_jpeg};
///     out.write(encode(e));
struct example {
  std::map<std::string, feature, std::less<>> features;

  friend bool operator==(const example&, const example&) = default;
};

namespace detail {

template <class T>
inline constexpr unsigned feature_field = 0;  // of the message Feature
template <>
inline constexpr unsigned feature_field<std::string> = 1;
template <>
inline constexpr unsigned feature_field<float> = 2;
template <>
inline constexpr unsigned feature_field<std::int64_t> = 3;

[[nodiscard]] inline std::string_view name_of(const feature& f) {
  constexpr std::string_view names[] = {"bytes", "floats", "integers"};
  return names[f.index()];
}

// A list's values are its field 1. One list may come in several pieces, packed ones or not.

inline void append_values(protobuf_reader list, std::vector<std::string>& to) {
  while (list.next()) {
    if (list.field() == 1) {
      list.expect(protobuf_kind::bytes);
      to.emplace_back(list.value());
    }
  }
}

/// For numbers, which stand one by one in fields of this kind or packed into bytes; `read(values)`
/// takes the next. `count(bytes)` is how many there are in some.
template <class T, class Count, class Read>
void append_numbers(protobuf_reader list, std::vector<T>& to, protobuf_kind kind,
                    const Count& count, const Read& read) {
  while (list.next()) {
    if (list.field() != 1) {
      continue;
    }
    if (list.kind() != protobuf_kind::bytes) {
      list.expect(kind);
    }
    if (to.empty()) {
      to.reserve(count(list.value()));
    }
    for (protobuf_reader values = list.in_value(); !values.done();) {
      to.push_back(read(values));
    }
  }
}

inline void append_values(const protobuf_reader& list, std::vector<float>& to) {
  append_numbers(
      list, to, protobuf_kind::four_bytes,
      [](std::string_view bytes) { return bytes.size() / sizeof(float); },
      [](protobuf_reader& values) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(values.word(sizeof(float))));
      });
}

inline void append_values(const protobuf_reader& list, std::vector<std::int64_t>& to) {
  append_numbers(
      list, to, protobuf_kind::integer,
      [](std::string_view bytes) {
        return static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), [](char byte) {
          return static_cast<unsigned char>(byte) < 0x80;
        }));
      },
      [](protobuf_reader& values) { return static_cast<std::int64_t>(values.integer()); });
}

/// Reads on in a feature, of which a message may have several pieces. Of several kinds, the last
/// one is meant.
template <class T>
void append_list(const protobuf_reader& message, std::optional<feature>& to) {
  message.expect(protobuf_kind::bytes);
  if (!to || !std::holds_alternative<std::vector<T>>(*to)) {
    to = std::vector<T>();
  }
  append_values(message.in_value(), std::get<std::vector<T>>(*to));
}

inline void append_feature(protobuf_reader message, std::optional<feature>& to) {
  while (message.next()) {
    switch (message.field()) {
      case feature_field<std::string>:
        append_list<std::string>(message, to);
        break;
      case feature_field<float>:
        append_list<float>(message, to);
        break;
      case feature_field<std::int64_t>:
        append_list<std::int64_t>(message, to);
        break;
      default:
        break;
    }
  }
}

/// Reads one feature with its name. It takes the place of an earlier one of this name.
inline void read_entry(protobuf_reader entry, example& to) {
  std::string name;
  std::optional<feature> value;
  while (entry.next()) {
    if (entry.field() == 1) {
      entry.expect(protobuf_kind::bytes);
      name = entry.value();
    } else if (entry.field() == 2) {
      entry.expect(protobuf_kind::bytes);
      append_feature(entry.in_value(), value);
    }
  }
  require<data_error>(is_utf8(name),
                      "expected a tf.train.Example, but the name of a feature is no "
                      "UTF-8");
  if (value) {
    to.features.insert_or_assign(std::move(name), std::move(*value));
  } else {
    to.features.erase(name);
  }
}

/// Calls `read(reader)` in each value of field 1.
template <class Read>
void for_each_message(protobuf_reader message, const Read& read) {
  while (message.next()) {
    if (message.field() == 1) {
      message.expect(protobuf_kind::bytes);
      read(message.in_value());
    }
  }
}

/// The names of an example's features, or the first of them.
[[nodiscard]] inline std::string names_in(const example& e) {
  constexpr std::size_t most = 20;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, value] : e.features) {
    if (count++ == most) {
      return names + text(" and ", e.features.size() - most, " others");
    }
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  return names.empty() ? "none" : names;
}

template <class T>
[[nodiscard]] const std::vector<T>& values_in(const example& e, std::string_view name) {
  const auto found = e.features.find(name);
  if (found == e.features.end()) {
    throw data_error(text("expected a feature '", name, "', found ", names_in(e)));
  }
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  require<data_error>(values != nullptr, "expected ", name_of(feature(std::vector<T>())),
                      " as the feature '", name, "', found ", name_of(found->second));
  return *values;
}

/// The one value of a feature.
template <class T>
[[nodiscard]] const T& value_in(const example& e, std::string_view name) {
  const std::vector<T>& values = values_in<T>(e, name);
  require<data_error>(values.size() == 1, "expected one value as the feature '", name, "', found ",
                      values.size());
  return values.front();
}

}  // namespace detail

/// The integers, floats, or texts or bytes of a feature. Throws `data_error` where the example has
/// none of this name, and says which it has, or one of another kind.
[[nodiscard]] inline const std::vector<std::int64_t>& ints(const example& e,
                                                           std::string_view name) {
  return detail::values_in<std::int64_t>(e, name);
}
/// The values of a feature that holds floats; see `ints`.
[[nodiscard]] inline const std::vector<float>& floats(const example& e, std::string_view name) {
  return detail::values_in<float>(e, name);
}
/// The texts or bytes of a feature; see `ints`.
[[nodiscard]] inline const std::vector<std::string>& bytes(const example& e,
                                                           std::string_view name) {
  return detail::values_in<std::string>(e, name);
}
// What they return would be gone.
const std::vector<std::int64_t>& ints(const example&& e, std::string_view name) = delete;
const std::vector<float>& floats(const example&& e, std::string_view name) = delete;
const std::vector<std::string>& bytes(const example&& e, std::string_view name) = delete;

/// An example as the bytes of a message, numbers packed, features in the order of their names: what
/// TensorFlow writes, which leaves the order open.
///
/// Throws `value_error` for names that are no UTF-8, and for more than the 2 GiB of a message.
[[nodiscard]] inline std::string encode(const example& e) {
  detail::protobuf_message features;
  for (const auto& [name, value] : e.features) {
    require<value_error>(is_utf8(name), "example: the name of a feature is no UTF-8");
    detail::protobuf_message list;
    unsigned kind = 0;
    std::visit(
        [&]<class T>(const std::vector<T>& values) {
          kind = detail::feature_field<T>;
          if constexpr (std::is_same_v<T, std::string>) {
            for (const std::string& one : values) {
              list.add_bytes(1, one);
            }
          } else if (!values.empty()) {
            if constexpr (std::is_same_v<T, float>) {
              list.add_floats(1, values);
            } else {
              list.add_integers(1, values);
            }
          }
        },
        value);
    detail::protobuf_message one;
    one.add_bytes(kind, list.bytes());
    detail::protobuf_message entry;
    entry.add_bytes(1, name);
    entry.add_bytes(2, one.bytes());
    features.add_bytes(1, entry.bytes());
  }
  detail::protobuf_message message;
  message.add_bytes(1, features.bytes());
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  require<value_error>(message.bytes().size() <= most, "example: takes ", message.bytes().size(),
                       " bytes, more than the ", most, " that protocol buffers allow");
  return message.bytes();
}

/// The example that a message says. As protocol buffers ask, numbers may be packed or not, unknown
/// fields are passed over, of two features of one name the later one is meant, and a feature in
/// several pieces is put together. A feature of no kind is left out, as TensorFlow's parser takes
/// it to be missing.
///
/// Throws `data_error`, with the byte, for what is cut short or no such message, and where the name
/// of a feature is no UTF-8. A message has no checksum: that is the record's.
[[nodiscard]] inline example decode_example(std::string_view message) {
  example result;
  detail::for_each_message({message, "tf.train.Example"}, [&](const auto& features) {
    detail::for_each_message(features,
                             [&](const auto& entry) { detail::read_entry(entry, result); });
  });
  return result;
}

}  // namespace glia
