#pragma once

#include <cstdint>
#include <glia/io/example.hpp>
#include <glia/io/record_frame.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test {

[[nodiscard]] inline std::string from_hex(std::string_view digits) {
  std::string result;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    result += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return result;
}

}  // namespace test

// Small whole TFRecord files and Examples, for what is done with damaged copies of them.
namespace test::samples {

/// Records of these bytes, one behind the other.
[[nodiscard]] inline std::vector<std::uint8_t> tfrecord_file(
    const std::vector<std::string>& records) {
  std::string file;
  for (const std::string& record : records) {
    file += glia::detail::framed_record(record);
  }
  return {file.begin(), file.end()};
}

/// Features of all kinds.
[[nodiscard]] inline glia::tf_example example(std::int64_t number) {
  glia::tf_example e;
  e.features["class"] = std::vector<std::int64_t>{number};
  e.features["image"] = std::vector<std::string>{"\xFF\xD8\xFF bytes of a picture"};
  e.features["none"] = std::vector<std::int64_t>{};
  e.features["numbers"] = std::vector<std::int64_t>{number, -1, 300, INT64_MIN, INT64_MAX};
  e.features["texts"] = std::vector<std::string>{"a", "", "b\xC3\xA4"};
  e.features["weights"] = std::vector<float>{0.5F, -2, 1e-40F};
  return e;
}

[[nodiscard]] inline std::vector<std::vector<std::uint8_t>> tfrecord() {
  return {tfrecord_file({"abc", "", std::string(300, 'x')}),
          tfrecord_file({encode_example(example(1)), encode_example(example(2))}),
          tfrecord_file({""})};
}

[[nodiscard]] inline std::vector<std::vector<std::uint8_t>> example_messages() {
  std::vector<std::vector<std::uint8_t>> messages;
  const auto add = [&](const std::string& message) {
    messages.emplace_back(message.begin(), message.end());
  };
  add(encode_example(glia::tf_example{}));
  add(encode_example(example(7)));
  // Numbers one by one, a feature in two pieces, one of no kind and one twice; unknown fields.
  glia::detail::protobuf_message integers;
  integers.add_integer(1, 5);
  integers.add_integers(1, {6, 7});
  integers.add_double(9, 1);
  glia::detail::protobuf_message floats;
  floats.add_float(1, 5);
  floats.add_floats(1, {6, 7});
  glia::detail::protobuf_message first;
  first.add_bytes(3, integers.bytes());
  glia::detail::protobuf_message second;
  second.add_bytes(2, floats.bytes());
  glia::detail::protobuf_message features;
  for (const auto& [name, value] :
       {std::pair("a", first.bytes()), std::pair("b", second.bytes()),
        std::pair("a", second.bytes()), std::pair("c", std::string())}) {
    glia::detail::protobuf_message entry;
    entry.add_bytes(1, name);
    entry.add_bytes(2, value);
    entry.add_bytes(2, value);
    features.add_bytes(1, entry.bytes());
  }
  glia::detail::protobuf_message message;
  message.add_bytes(1, features.bytes());
  message.add_integer(3, 300);
  message.add_float(4, 1);
  add(message.bytes());
  return messages;
}

}  // namespace test::samples
