#include <array>
#include <glia/core/random.hpp>
#include <glia/core/utf8.hpp>
#include <glia/text/byte_pair_tokenizer.hpp>
#include <optional>
#include <thread>

#include "catch.hpp"
#include "damage.hpp"
#include "golden/text_golden.hpp"
#include "messages.hpp"
#include "samples/tokenizers.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;
using test::samples::tokenizer_files;
using test::samples::tokenizer_with;

namespace {

using ids = std::vector<std::int32_t>;

const std::filesystem::path small_tokenizer = GLIA_EXAMPLE_DATA "/tokenizer";

glia::byte_pair_tokenizer read_small() {
  return glia::read_byte_pair_tokenizer(small_tokenizer / "vocab.json",
                                        small_tokenizer / "merges.txt");
}

template <class Bytes>
std::vector<std::uint8_t> as_bytes(const Bytes& text) {
  return {text.begin(), text.end()};
}

glia::byte_pair_tokenizer read(const tokenizer_files& files) {
  const test::temporary_folder folder;
  folder.write("v.json", as_bytes(files.vocab));
  folder.write("m.txt", as_bytes(files.merges));
  return glia::read_byte_pair_tokenizer(folder.path() / "v.json", folder.path() / "m.txt");
}

std::string reading_error(const tokenizer_files& files) {
  return message_of<glia::data_error>([&] { (void)read(files); });
}

/// The files with a part of the vocabulary replaced.
tokenizer_files replaced(tokenizer_files files, const std::string& part, const std::string& other) {
  files.vocab.replace(files.vocab.find(part), part.size(), other);
  return files;
}

/// A text of random bytes or of random code points, some of them frequent.
std::string random_text(glia::random_stream& random, bool is_valid) {
  std::string text;
  for (std::size_t count = random.integer(60); count > 0; --count) {
    if (!is_valid) {
      text += static_cast<char>(random.integer(256));
      continue;
    }
    constexpr std::array<char32_t, 4> bounds{0x80, 0x400, 0x3000, 0x110000};
    const auto code = static_cast<char32_t>(random.integer(bounds[random.integer(4)]));
    glia::detail::append_utf8(text, code >= 0xD800 && code < 0xE000 ? U' ' : code);
  }
  return text;
}

}  // namespace

TEST_CASE("texts become the tokens of Hugging Face's tokenizers") {
  const glia::byte_pair_tokenizer tokenizer = read_small();
  CHECK(tokenizer.vocabulary_size() == 512);
  REQUIRE(glia_golden::byte_pair_cases.size() > 20);
  for (const auto& [text, expected] : glia_golden::byte_pair_cases) {
    CAPTURE(text);
    CHECK(tokenizer.encode(text) == expected);
    CHECK(tokenizer.decode(expected) == text);
  }
  for (const auto& [text, expected] : glia_golden::special_token_cases) {
    CAPTURE(text);
    CHECK(tokenizer.encode(text, {.special_tokens = {"<|endoftext|>"}}) == expected);
    CHECK(tokenizer.decode(expected) == text);
  }
}

TEST_CASE("decoding returns any text that was encoded") {
  const glia::byte_pair_tokenizer tokenizer = read_small();
  glia::random_stream random({.seed = 5});
  for (int trial = 0; trial < 2000; ++trial) {
    const std::string text = random_text(random, trial % 2 == 0);
    CAPTURE(trial);
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
  for (const std::string& text :
       {std::string("\xFF\xFE"), std::string("a\xC3"), std::string("\xE2\x82 \xE2\x82\xAC"),
        std::string("\xED\xA0\x80"), std::string("\0\0a", 3), std::string("\xF4\x90\x80\x80")}) {
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  }
}

TEST_CASE("merges of a lower rank come first, from left to right") {
  const auto tokenizer =
      read(tokenizer_with({"ab", "bc", "abc", "aa", "aaa"}, "b c\na b\nab c\na a\naa a\n"));
  CHECK(tokenizer.encode("abc") == ids{'a', 257});
  CHECK(tokenizer.encode("ab") == ids{256});
  CHECK(tokenizer.encode("aa") == ids{259});
  CHECK(tokenizer.encode("aaa") == ids{260});
  CHECK(tokenizer.encode("aaaa") == ids{259, 259});
  CHECK(tokenizer.encode("aaaaa") == ids{259, 260});
  // A token that no merges make from its bytes is never the result.
  CHECK(tokenizer.token("abc") == 258);
}

TEST_CASE("a long word without spaces is divided in time") {
  // The merges of a, aa, aaaa, ...: a quadratic algorithm would take minutes.
  const auto tokenizer = read(tokenizer_with({"aa", "aaaa", "aaaaaaaa"}, "a a\naa aa\naaaa aaaa"));
  const ids encoded = tokenizer.encode(std::string(1'000'003, 'a'));
  REQUIRE(encoded.size() == 125'002);
  CHECK(encoded[0] == 258);
  CHECK(encoded[125'000] == 256);
  CHECK(encoded[125'001] == 'a');
}

TEST_CASE("special tokens are recognized where the options name them") {
  const auto tokenizer = read(tokenizer_with({"<s>", "<s><s>", "[ sep ]"}, ""));
  CHECK(tokenizer.encode("<s>") == ids{'<', 's', '>'});
  CHECK(tokenizer.encode("a<s>b<s>", {.special_tokens = {"<s>"}}) == ids{'a', 256, 'b', 256});
  CHECK(tokenizer.encode("<s><s><s>", {.special_tokens = {"<s>", "<s><s>"}}) == ids{257, 256});
  CHECK(tokenizer.encode("<s", {.special_tokens = {"<s>"}}) == ids{'<', 's'});
  CHECK(tokenizer.encode("", {.special_tokens = {"<s>"}}).empty());
  // The spaces of this one have no byte, so it stands for itself.
  CHECK(tokenizer.encode("x[ sep ]", {.special_tokens = {"[ sep ]"}}) == ids{'x', 258});
  CHECK(tokenizer.decode(ids{258, 257}) == "[ sep ]<s><s>");
  CHECK(message_of<glia::value_error>([&] {
          (void)tokenizer.encode("a", {.special_tokens = {"<s>", "<pad>"}});
        }) == "byte_pair_tokenizer: expected one of the 259 tokens of the vocabulary, got '<pad>'");
}

TEST_CASE("tokens have ids, and ids have texts") {
  const auto tokenizer = read(tokenizer_with({"\\u0120the", "\\u00c3\\u00a9"}));
  CHECK(tokenizer.vocabulary_size() == 258);
  CHECK(tokenizer.token(" the") == 256);
  CHECK(tokenizer.token("\u00e9") == 257);
  CHECK(tokenizer.token("\n") == '\n');
  CHECK(tokenizer.decode(ids{256, 257, 0xE9}) == " the\u00e9\xE9");
  CHECK(tokenizer.decode({}).empty());
  for (const std::int32_t id : {-1, 258}) {
    CHECK(message_of<glia::value_error>([&] {
            (void)tokenizer.decode(ids{1, id});
          }) == glia::text("decode: expected ids from 0 to 257, got ", id));
  }
  CHECK(contains(message_of<glia::value_error>([&] { (void)tokenizer.token(""); }), "got ''"));
}

TEST_CASE("threads share a tokenizer, and a copy outlives it") {
  std::optional<glia::byte_pair_tokenizer> original = read_small();
  const glia::byte_pair_tokenizer copy = *original;
  original.reset();
  const auto& golden = glia_golden::byte_pair_cases;
  std::array<std::size_t, 4> right{};
  std::vector<std::thread> threads;
  for (std::size_t& count : right) {
    threads.emplace_back([&] {
      for (const auto& [text, expected] : golden) {
        count += copy.encode(text) == expected ? 1U : 0U;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(right == std::array{golden.size(), golden.size(), golden.size(), golden.size()});
}

TEST_CASE("merges may have GPT-2's first line, other line ends and empty lines at the end") {
  for (const std::string& merges :
       {std::string("#version: 0.2\na b\n"), std::string("#version: 0.2\r\na b\r\n\r\n"),
        std::string("a b"), std::string("a b\n\n\n")}) {
    CHECK(read(tokenizer_with({"ab"}, merges)).encode("ab") == ids{256});
  }
  // A line "#version:" is skipped only at the beginning.
  CHECK(contains(reading_error(tokenizer_with({"ab"}, "a b\n#version: 0.2\n")),
                 "m.txt:2: the first token is not in the vocabulary"));
  CHECK(read(tokenizer_with({"##"}, "#version: 0.2\n# #\n")).encode("##") == ids{256});
}

TEST_CASE("errors of a vocabulary name the file, the line and the column") {
  const tokenizer_files good = tokenizer_with({"ab", "cd"}, "a b\n");
  CHECK(reading_error(good).empty());
  // The key of id 66 begins in line 67, since each token has its line.
  CHECK(contains(reading_error(replaced(good, "\"B\":66", "\"B\":65")),
                 "v.json:67:1: the id 65 occurs twice"));
  CHECK(contains(reading_error(replaced(good, "\"ab\":256", "\"ab\":258")),
                 "v.json:257:1: expected an id below 258, the number of tokens, got 258"));
  CHECK(contains(reading_error(replaced(good, "\"cd\"", "\"ab\"")),
                 "v.json:258:1: the token 'ab' occurs twice"));
  // A special token with a space, and the token of the byte, are both a space.
  CHECK(contains(reading_error(replaced(good, "\"cd\"", "\" \"")),
                 "v.json:258:1: the token ' ' occurs twice"));
  CHECK(contains(reading_error(replaced(good, "\"cd\"", "\"\"")),
                 "v.json:258:1: expected a token, got an empty text"));
  CHECK(contains(reading_error(replaced(good, "\"\u0120\"", "\"xyz\"")),
                 "v.json: expected a token for each of the 256 bytes, got no '\u0120' for the byte "
                 "32"));
  CHECK(contains(reading_error({"", ""}),
                 "v.json:1:1: expected '{', got the end of the file; the file must be a JSON "
                 "object"));
  CHECK(contains(reading_error({"{}", ""}), "v.json: expected a token for each of the 256 bytes"));
}

TEST_CASE("errors of merges name the file and the line") {
  const auto error_of = [](const std::string& merges) {
    return reading_error(tokenizer_with({"ab", "abc"}, "#version: 0.2\n" + merges));
  };
  CHECK(error_of("a b\n").empty());
  for (const std::string& line :
       {std::string("ab"), std::string(" ab"), std::string("a "), std::string("a b c"),
        std::string("a  b"), std::string(""), std::string("a \xFF")}) {
    CAPTURE(line);
    CHECK(contains(error_of("a b\n" + line + "\nab c"),
                   "m.txt:3: expected two tokens with one space between them"));
  }
  CHECK(contains(error_of("xy b"), "m.txt:2: the first token is not in the vocabulary"));
  CHECK(contains(error_of("a bc"), "m.txt:2: the second token is not in the vocabulary"));
  CHECK(contains(error_of("a b\nb c"), "m.txt:3: the merged token is not in the vocabulary"));
  CHECK(contains(error_of("a b\nab c\na b"), "m.txt:4: the pair occurs twice"));
}

TEST_CASE("a tokenizer's files must be there") {
  const test::temporary_folder folder;
  const std::filesystem::path missing = folder.path() / "missing";
  const auto error_of = [](const auto&... paths) {
    return message_of<glia::data_error>([&] { (void)glia::read_byte_pair_tokenizer(paths...); });
  };
  CHECK(contains(error_of(missing, small_tokenizer / "merges.txt"),
                 missing.string() + ": cannot be read"));
  CHECK(contains(error_of(small_tokenizer / "vocab.json", missing),
                 missing.string() + ": cannot be read"));
  CHECK(contains(error_of(small_tokenizer / "vocab.json", folder.path()), "is not a regular file"));
}

TEST_CASE("damaged files of a tokenizer are read or refused") {
  const auto vocab = test::file_content<std::vector<std::uint8_t>>(small_tokenizer / "vocab.json");
  const auto merges = test::file_content<std::vector<std::uint8_t>>(small_tokenizer / "merges.txt");
  const test::temporary_folder folder;
  const std::string text = "the layers of a model\xFF";
  const auto check = [&] {
    const auto tokenizer =
        glia::read_byte_pair_tokenizer(folder.path() / "vocab.json", folder.path() / "merges.txt");
    CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  };
  folder.write("merges.txt", merges);
  const std::size_t vocabularies = test::damaged_copies_read({vocab}, [&](const auto& copy) {
    folder.write("vocab.json", copy);
    check();
  });
  folder.write("vocab.json", vocab);
  const std::size_t lists = test::damaged_copies_read({merges}, [&](const auto& copy) {
    folder.write("merges.txt", copy);
    check();
  });
  // Some are as good as before, such as a list of merges that ends earlier.
  CHECK(vocabularies < 500);
  CHECK(lists < 700);
  CHECK(lists > 0);
}
