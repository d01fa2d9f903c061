#include <cmath>
#include <glia/io/example.hpp>
#include <limits>

#include "catch.hpp"
#include "damage.hpp"
#include "messages.hpp"
#include "samples/records.hpp"

using test::contains;
using test::from_hex;
using test::message_of;

namespace {

using integer_list = std::vector<std::int64_t>;
using floats = std::vector<float>;
using text_list = std::vector<std::string>;

/// A field whose value is bytes; fewer than 128.
std::string field_of(unsigned number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3U | 2U), static_cast<char>(bytes.size())} + bytes;
}

/// An Example of one feature "a".
std::string example_of(const std::string& value) {
  return field_of(1, field_of(1, field_of(1, "a") + field_of(2, value)));
}

std::string decoding_error(const std::string& message) {
  return message_of<glia::data_error>([&] { (void)glia::decode_example(message); });
}

}  // namespace

TEST_CASE("an example is encoded as TensorFlow encodes it") {
  // tf.train.Example of TensorFlow 2.21, SerializeToString(deterministic=True).
  const std::string expected = from_hex(
      "0a760a2d0a05636c61737312241a220a2003ffffffffffffffffff01ac0280808080808080808001ffffffffffff"
      "ffff7f0a120a05696d61676512090a070a03ffd8000a000a0a0a046e6f6e6512021a000a1b0a0777656967687473"
      "1210120e0a0c0000003f000000c0c21601000a080a02c3a412020a00");
  glia::tf_example e;
  e.features["\xC3\xA4"] = text_list{};
  e.features["class"] = integer_list{3, -1, 300, std::numeric_limits<std::int64_t>::min(),
                                     std::numeric_limits<std::int64_t>::max()};
  e.features["image"] = text_list{std::string("\xFF\xD8\0", 3), ""};
  e.features["none"] = integer_list{};
  e.features["weights"] = floats{0.5F, -2, 1e-40F};
  CHECK(encode_example(e) == expected);
  CHECK(glia::decode_example(expected) == e);
  // As tf.train.Example(features=tf.train.Features()).
  CHECK(encode_example(glia::tf_example{}) == from_hex("0a00"));
  CHECK(glia::decode_example("").features.empty());
}

TEST_CASE("an example comes back as it was encoded") {
  glia::tf_example e = test::samples::example(4);
  e.features[""] = floats{-0.0F, std::numeric_limits<float>::infinity()};
  e.features["long"] = text_list{std::string(100'000, '\xFF'), std::string(127, 'a')};
  integer_list powers;
  for (unsigned bit = 0; bit < 64; ++bit) {
    powers.push_back(static_cast<std::int64_t>(std::uint64_t{1} << bit));
    powers.push_back(static_cast<std::int64_t>((std::uint64_t{1} << bit) - 1));
  }
  e.features["powers"] = powers;
  CHECK(glia::decode_example(encode_example(e)) == e);
  glia::tf_example nan;
  nan.features["x"] = floats{NAN};
  const glia::tf_example decoded = glia::decode_example(encode_example(nan));
  CHECK(std::isnan(float_list(decoded, "x").at(0)));
}

TEST_CASE("features are found by name and kind, and errors say what there is") {
  const glia::tf_example e = test::samples::example(4);
  CHECK(int64_list(e, "class") == integer_list{4});
  CHECK(float_list(e, "weights") == floats{0.5F, -2, 1e-40F});
  CHECK(bytes_list(e, "texts") == text_list{"a", "", "b\xC3\xA4"});
  CHECK(message_of<glia::data_error>([&] { (void)int64_list(e, "label"); }) ==
        "expected a feature 'label', found 'class', 'image', 'none', 'numbers', 'texts', "
        "'weights'");
  CHECK(message_of<glia::data_error>([&] { (void)int64_list(e, "image"); }) ==
        "expected integers in the feature 'image', found bytes");
  CHECK(message_of<glia::data_error>([&] { (void)bytes_list(e, "weights"); }) ==
        "expected bytes in the feature 'weights', found floats");
  CHECK(message_of<glia::data_error>([&] { (void)float_list(e, "class"); }) ==
        "expected floats in the feature 'class', found integers");
  const glia::tf_example empty;
  CHECK(message_of<glia::data_error>([&] { (void)int64_list(empty, "x"); }) ==
        "expected a feature 'x', found none");
  glia::tf_example many;
  for (int i = 100; i < 130; ++i) {
    many.features[std::to_string(i)] = integer_list{};
  }
  CHECK(contains(message_of<glia::data_error>([&] { (void)int64_list(many, "x"); }),
                 "'118', '119' and 10 others"));
}

TEST_CASE("numbers of an example may be packed or not, or both") {
  const auto integers = [](const std::string& list) {
    const glia::tf_example e = glia::decode_example(example_of(field_of(3, list)));
    return int64_list(e, "a");
  };
  const std::string five = from_hex("0805");
  CHECK(integers(five) == integer_list{5});
  CHECK(integers(five + field_of(1, from_hex("06ac02")) + five) == integer_list{5, 6, 300, 5});
  CHECK(integers(field_of(1, "")).empty());
  CHECK(integers(from_hex("08ffffffffffffffffff01")) == integer_list{-1});
  // A longer form than it takes is no error.
  CHECK(integers(from_hex("08858000")) == integer_list{5});
  const auto read_floats = [](const std::string& list) {
    const glia::tf_example e = glia::decode_example(example_of(field_of(2, list)));
    return float_list(e, "a");
  };
  const std::string half = from_hex("0d0000003f");
  CHECK(read_floats(half + field_of(1, from_hex("000000c00000803f")) + half) ==
        floats{0.5F, -2, 1, 0.5F});
}

TEST_CASE("pieces of an example are put together as protocol buffers ask") {
  const std::string five = field_of(3, from_hex("0805"));
  const std::string six = field_of(3, from_hex("0806"));
  const std::string text = field_of(1, field_of(1, "t"));
  const auto decoded = [](const std::string& message) { return glia::decode_example(message); };
  // TensorFlow 2.21 reads these alike.
  CHECK(decoded(example_of(five + six)).features.at("a") == glia::tf_feature(integer_list{5, 6}));
  const auto of_value = [&](const std::string& values) {
    return decoded(field_of(1, field_of(1, field_of(1, "a") + values))).features;
  };
  CHECK(of_value(field_of(2, five) + field_of(2, six)).at("a") ==
        glia::tf_feature(integer_list{5, 6}));
  CHECK(of_value(field_of(2, five + text)).at("a") == glia::tf_feature(text_list{"t"}));
  CHECK(of_value(field_of(2, five) + field_of(2, text) + field_of(2, six)).at("a") ==
        glia::tf_feature(integer_list{6}));
  // The later one of a name, in one list of features or in two.
  const auto entry = [](const std::string& value) {
    return field_of(1, field_of(1, "a") + field_of(2, value));
  };
  const glia::tf_feature expected = integer_list{6};
  CHECK(decoded(field_of(1, entry(five) + entry(six))).features.at("a") == expected);
  CHECK(decoded(field_of(1, entry(five)) + field_of(1, entry(six))).features.at("a") == expected);
  CHECK(decoded(field_of(1, entry(text) + entry(six))).features.at("a") == expected);
  // The name behind the value, or none.
  CHECK(decoded(field_of(1, field_of(1, field_of(2, six) + field_of(1, "a")))).features.at("a") ==
        expected);
  CHECK(decoded(field_of(1, field_of(1, field_of(2, six)))).features.at("") == expected);
  // Of no kind: missing.
  CHECK(of_value("").empty());
  CHECK(of_value(field_of(2, "")).empty());
  CHECK(decoded(field_of(1, entry(five) + entry(""))).features.empty());
}

TEST_CASE("unknown fields of an example are passed over") {
  const std::string unknown = field_of(9, "\xFF\xFF") + from_hex("50ffffffffffffffffff01") +
                              from_hex("510000000000000000") + from_hex("5500000000") +
                              from_hex("f8ffffff0f00");  // the largest number of a field
  // A message of more bytes than field_of writes.
  const auto around = [&](unsigned number, const std::string& value) {
    glia::detail::protobuf_message message;
    message.add_bytes(number, value);
    return unknown + message.bytes() + unknown;
  };
  const std::string value = around(3, unknown + from_hex("0805") + unknown);
  const glia::tf_example e =
      glia::decode_example(around(1, around(1, field_of(1, "a") + around(2, value))));
  CHECK(e.features.size() == 1);
  CHECK(int64_list(e, "a") == integer_list{5});
}

TEST_CASE("an example that is damaged gives an error with the byte") {
  const std::string begin = "expected a tf.train.Example, but at byte ";
  CHECK(decoding_error(from_hex("0a")) ==
        begin + "1: expected 1 or more bytes, but only 0 are left");
  CHECK(decoding_error(from_hex("0a05")) ==
        begin + "2: expected 5 or more bytes, but only 0 are left");
  CHECK(contains(decoding_error(from_hex("0aff")), "expected 2 or more bytes"));
  // Lengths near 2^64 must not wrap.
  CHECK(decoding_error(from_hex("0affffffffffffffffff01")) ==
        begin + "11: expected 18446744073709551615 or more bytes, but only 0 are left");
  CHECK(decoding_error(from_hex("0affffffffffffffffff02")) ==
        begin + "1: a number has more than 64 bits");
  CHECK(decoding_error(from_hex("0affffffffffffffffffff01")) ==
        begin + "1: a number has more than 64 bits");
  CHECK(contains(decoding_error(from_hex("0d000000")), "expected 4 or more bytes, but only 3"));
  CHECK(contains(decoding_error(from_hex("1900000000")), "expected 8 or more bytes"));
  // Numbers of fields: 0, and beyond 2^29 - 1.
  CHECK(decoding_error(from_hex("0000")) == begin + "0: a field has an invalid number");
  CHECK(contains(decoding_error(from_hex("8080808010")), "an invalid number"));
  // Groups, and kinds that do not exist.
  for (const std::string kind : {"3", "4", "6", "7"}) {
    CHECK(decoding_error(from_hex("2" + kind + "08" + "2c")) ==
          begin + "0: field 4 has the wire type " + kind + ", which proto3 does not have");
  }
  CHECK(
      contains(decoding_error(std::string(100'000, '\x0B')), "has the wire type 3, which proto3"));
}

TEST_CASE("fields of an example of another kind than theirs are an error with the byte") {
  const std::string begin = "expected a tf.train.Example, but at byte ";
  CHECK(decoding_error(from_hex("0801")) == begin + "0: field 1: expected the wire type 2, got 0");
  CHECK(decoding_error(field_of(1, from_hex("0801"))) ==
        begin + "2: field 1: expected the wire type 2, got 0");
  CHECK(contains(decoding_error(field_of(1, field_of(1, from_hex("0801")))), "byte 4: field 1"));
  CHECK(contains(decoding_error(field_of(1, field_of(1, from_hex("1001")))), "byte 4: field 2"));
  for (const std::string kind : {"08", "10", "18"}) {
    CHECK(contains(decoding_error(example_of(from_hex(kind + "05"))),
                   "expected the wire type 2, got 0"));
  }
  const auto list_error = [](unsigned kind, const std::string& list) {
    return decoding_error(example_of(field_of(kind, list)));
  };
  CHECK(contains(list_error(1, from_hex("0805")),
                 "byte 11: field 1: expected the wire type 2, got 0"));
  CHECK(contains(list_error(2, from_hex("0805")), "field 1: expected the wire type 5, got 0"));
  CHECK(
      contains(list_error(3, from_hex("0d00000000")), "field 1: expected the wire type 0, got 5"));
  CHECK(contains(list_error(3, from_hex("090000000000000000")), "expected the wire type 0, got 1"));
  // Packed numbers that are cut short.
  CHECK(contains(list_error(2, field_of(1, "12345")), "byte 17: expected 4 or more bytes"));
  CHECK(contains(list_error(3, field_of(1, "\x01\x80")), "byte 14: expected 2 or more bytes"));
}

TEST_CASE("names of features are UTF-8") {
  const std::string message =
      field_of(1, field_of(1, field_of(1, "\xFF") + field_of(2, field_of(3, ""))));
  CHECK(contains(decoding_error(message), "the name of a feature is not in UTF-8"));
  glia::tf_example e;
  e.features["\xC3"] = integer_list{1};
  CHECK(message_of<glia::value_error>([&] { (void)encode_example(e); }) ==
        "encode_example: expected names of features in UTF-8, got other bytes");
}

TEST_CASE("examples cut at every byte give an error or fewer features") {
  const std::string whole = encode_example(test::samples::example(9));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    REQUIRE_FALSE(decoding_error(whole.substr(0, size)).empty());
  }
}

TEST_CASE("10,000 damaged examples give an error or an example") {
  const auto messages = test::samples::example_messages();
  std::size_t decoded = 0;
  for (std::uint32_t number = 0; number < 10'000; ++number) {
    const auto copy = test::damaged(messages[number % messages.size()], number);
    try {
      const std::string reencoded =
          encode_example(glia::decode_example(std::string(copy.begin(), copy.end())));
      REQUIRE(encode_example(glia::decode_example(reencoded)) == reencoded);
      ++decoded;
    } catch (const glia::data_error&) {
    }
  }
  // A message has no sum: changed values are other values.
  CHECK(decoded < 7000);
}
