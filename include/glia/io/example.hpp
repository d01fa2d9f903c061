#pragma once

#include <algorithm>
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

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/utf8.hpp"
#include "glia/io/protobuf_message.hpp"
#include "glia/io/protobuf_reader.hpp"

namespace glia {

/// The values of one feature of a `tf_example`: strings (texts or bytes), floats, or integers.
/// Equivalent to TensorFlow's `tf.train.Feature`.
using tf_feature =
    std::variant<std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;

/// A sample with named features: TensorFlow's message `tf.train.Example`
/// (tensorflow/core/example/example.proto). Most TFRecord files consist of such messages.
///
///     glia::tf_example e;
///     e.features["class"] = std::vector<std::int64_t>{3};
///     e.features["image"] = std::vector<std::string>{bytes_of_a_jpeg};
///     out.write(encode_example(e));
struct tf_example {
  std::map<std::string, tf_feature, std::less<>> features;  ///< Values by name.

  friend bool operator==(const tf_example&, const tf_example&) = default;
};

namespace detail {

template <class T>
inline constexpr unsigned feature_field = 0;  // the field's number in the message Feature
template <>
inline constexpr unsigned feature_field<std::string> = 1;
template <>
inline constexpr unsigned feature_field<float> = 2;
template <>
inline constexpr unsigned feature_field<std::int64_t> = 3;

[[nodiscard]] inline std::string_view name_of(const tf_feature& f) {
  constexpr std::string_view names[] = {"bytes", "floats", "integers"};
  return names[f.index()];
}

// The values of a list are in its field 1. This field can occur several times, and can hold one
// value or several packed values.

inline void append_values(protobuf_reader list, std::vector<std::string>& destination) {
  while (list.next()) {
    if (list.field() == 1) {
      list.expect(protobuf_kind::bytes);
      destination.emplace_back(list.value());
    }
  }
}

/// Appends the numbers of a list. A field of the wire type `kind` holds one number; a field of the
/// wire type `bytes` holds several packed numbers. `read(values)` reads the next number;
/// `count(bytes)` returns how many numbers are packed in `bytes`.
template <class T, class Count, class Read>
void append_numbers(protobuf_reader list, std::vector<T>& destination, protobuf_kind kind,
                    const Count& count, const Read& read) {
  while (list.next()) {
    if (list.field() != 1) {
      continue;
    }
    if (list.kind() != protobuf_kind::bytes) {
      list.expect(kind);
    }
    if (destination.empty()) {
      destination.reserve(count(list.value()));
    }
    for (protobuf_reader values = list.in_value(); !values.done();) {
      destination.push_back(read(values));
    }
  }
}

inline void append_values(const protobuf_reader& list, std::vector<float>& destination) {
  append_numbers(
      list, destination, protobuf_kind::four_bytes,
      [](std::string_view bytes) { return bytes.size() / sizeof(float); },
      [](protobuf_reader& values) {
        return detail::bit_cast<float>(static_cast<std::uint32_t>(values.word(sizeof(float))));
      });
}

inline void append_values(const protobuf_reader& list, std::vector<std::int64_t>& destination) {
  append_numbers(
      list, destination, protobuf_kind::integer,
      [](std::string_view bytes) {
        return static_cast<std::size_t>(std::count_if(bytes.begin(), bytes.end(), [](char byte) {
          return static_cast<unsigned char>(byte) < 0x80;
        }));
      },
      [](protobuf_reader& values) { return static_cast<std::int64_t>(values.integer()); });
}

/// Appends the values of one list to a feature. If the feature has values of another type, from an
/// earlier list of the message, these are discarded.
template <class T>
void append_list(const protobuf_reader& message, std::optional<tf_feature>& feature) {
  message.expect(protobuf_kind::bytes);
  if (!feature || !std::holds_alternative<std::vector<T>>(*feature)) {
    feature = std::vector<T>();
  }
  append_values(message.in_value(), std::get<std::vector<T>>(*feature));
}

inline void append_feature(protobuf_reader message, std::optional<tf_feature>& feature) {
  while (message.next()) {
    switch (message.field()) {
      case feature_field<std::string>:
        append_list<std::string>(message, feature);
        break;
      case feature_field<float>:
        append_list<float>(message, feature);
        break;
      case feature_field<std::int64_t>:
        append_list<std::int64_t>(message, feature);
        break;
      default:
        break;
    }
  }
}

/// Reads one feature with its name. The feature replaces an earlier one of the same name.
inline void read_entry(protobuf_reader entry, tf_example& example) {
  std::string name;
  std::optional<tf_feature> value;
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
                      "expected a tf.train.Example, but the name of a feature is not in UTF-8");
  if (value) {
    example.features.insert_or_assign(std::move(name), std::move(*value));
  } else {
    example.features.erase(name);
  }
}

/// Calls `read(reader)` for each message in field 1, with a reader of that message.
template <class Read>
void for_each_message(protobuf_reader message, const Read& read) {
  while (message.next()) {
    if (message.field() == 1) {
      message.expect(protobuf_kind::bytes);
      read(message.in_value());
    }
  }
}

/// Returns the names of an example's features, at most 20 of them, for an error message.
[[nodiscard]] inline std::string names_in(const tf_example& e) {
  constexpr std::size_t max_names = 20;
  std::string names;
  std::size_t count = 0;
  for (const auto& [name, value] : e.features) {
    if (count++ == max_names) {
      return names + text(" and ", e.features.size() - max_names, " others");
    }
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  return names.empty() ? "none" : names;
}

template <class T>
[[nodiscard]] const std::vector<T>& values_in(const tf_example& e, std::string_view name) {
  const auto found = e.features.find(name);
  if (found == e.features.end()) {
    throw data_error(text("expected a feature '", name, "', found ", names_in(e)));
  }
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  require<data_error>(values != nullptr, "expected ", name_of(tf_feature(std::vector<T>())),
                      " in the feature '", name, "', found ", name_of(found->second));
  return *values;
}

/// Returns the only value of a feature. Throws `data_error` unless the feature has exactly one
/// value.
template <class T>
[[nodiscard]] const T& value_in(const tf_example& e, std::string_view name) {
  const std::vector<T>& values = values_in<T>(e, name);
  require<data_error>(values.size() == 1, "expected one value in the feature '", name, "', found ",
                      values.size());
  return values.front();
}

}  // namespace detail

/// Returns the values of a feature of integers. Throws `data_error` if the feature holds values of
/// another type. Throws `data_error`, with the names of the example's features, if there is no
/// feature of this name.
[[nodiscard]] inline const std::vector<std::int64_t>& int64_list(const tf_example& e,
                                                                 std::string_view name) {
  return detail::values_in<std::int64_t>(e, name);
}
/// Returns the values of a feature of floats. Throws `data_error` if the feature holds values of
/// another type. Throws `data_error`, with the names of the example's features, if there is no
/// feature of this name.
[[nodiscard]] inline const std::vector<float>& float_list(const tf_example& e,
                                                          std::string_view name) {
  return detail::values_in<float>(e, name);
}
/// Returns the values of a feature of texts or bytes. Throws `data_error` if the feature holds
/// values of another type. Throws `data_error`, with the names of the example's features, if there
/// is no feature of this name.
[[nodiscard]] inline const std::vector<std::string>& bytes_list(const tf_example& e,
                                                                std::string_view name) {
  return detail::values_in<std::string>(e, name);
}
// Not for temporary examples: the returned references would dangle.
const std::vector<std::int64_t>& int64_list(const tf_example&& e, std::string_view name) = delete;
const std::vector<float>& float_list(const tf_example&& e, std::string_view name) = delete;
const std::vector<std::string>& bytes_list(const tf_example&& e, std::string_view name) = delete;

/// Serializes an example to a `tf.train.Example` message that TensorFlow can read. Numbers are
/// packed, and the features are in the order of their names.
///
/// Throws `value_error` if the name of a feature is not UTF-8, or if the message exceeds 2 GiB, the
/// limit of protocol buffers.
[[nodiscard]] inline std::string encode_example(const tf_example& e) {
  detail::protobuf_message features;
  for (const auto& [name, value] : e.features) {
    require<value_error>(detail::is_utf8(name),
                         "encode_example: expected names of features in UTF-8, got other bytes");
    detail::protobuf_message list;
    unsigned kind = 0;
    std::visit(
        [&]<class T>(const std::vector<T>& values) {
          kind = detail::feature_field<T>;
          if constexpr (std::is_same_v<T, std::string>) {
            for (const std::string& element : values) {
              list.add_bytes(1, element);
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
    detail::protobuf_message feature;
    feature.add_bytes(kind, list.bytes());
    detail::protobuf_message entry;
    entry.add_bytes(1, name);
    entry.add_bytes(2, feature.bytes());
    features.add_bytes(1, entry.bytes());
  }
  detail::protobuf_message message;
  message.add_bytes(1, features.bytes());
  constexpr std::size_t max_bytes = std::numeric_limits<std::int32_t>::max();
  require<value_error>(message.bytes().size() <= max_bytes, "encode_example: the example takes ",
                       message.bytes().size(), " bytes, more than the ", max_bytes,
                       " that protocol buffers allow");
  return message.bytes();
}

/// Parses a `tf.train.Example` message.
///
/// Follows the rules of protocol buffers: numbers may be packed or not, and unknown fields are
/// skipped. If several features have the same name, the last one counts. A feature in several parts
/// is joined. A feature without any list of values is left out, as in TensorFlow's parser.
///
/// Throws `data_error`, with the position of the byte, if the message is truncated or not a
/// `tf.train.Example`, or if the name of a feature is not UTF-8. The message itself has no
/// checksum; a TFRecord file has one for each record.
[[nodiscard]] inline tf_example decode_example(std::string_view message) {
  tf_example result;
  detail::for_each_message({message, "tf.train.Example"}, [&](const auto& features) {
    detail::for_each_message(features,
                             [&](const auto& entry) { detail::read_entry(entry, result); });
  });
  return result;
}

}  // namespace glia
