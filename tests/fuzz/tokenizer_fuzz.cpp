#include <algorithm>
#include <fstream>
#include <glia/text/byte_pair_tokenizer.hpp>
#include <string>

#include "fuzz/fuzz.hpp"
#include "samples/tokenizers.hpp"

namespace {

const test::samples::tokenizer_files& valid_files() {
  static const auto files = test::samples::tokenizer_with({"ab", "abc", "aa", "\\u0120a", "[ s ]"},
                                                          "a b\nab c\na a\n\u0120 a\n");
  return files;
}

/// The path of the file that is not fuzzed.
std::filesystem::path other_file(const std::string& content) {
  static std::string written;
  if (written != content) {
    std::ofstream(fuzz::other_path(), std::ios::binary) << content;
    written = content;
  }
  return fuzz::other_path();
}

}  // namespace

// The first byte of an input says whether the rest of it is a vocabulary or a list of merges. While
// the vocabulary is fuzzed, the list of merges is empty, so that each error names the fuzzed file.
std::vector<fuzz::bytes> fuzz::seeds() {
  std::vector<bytes> result;
  for (const std::string& seed :
       {"v" + valid_files().vocab, "v" + test::samples::tokenizer_with({}).vocab,
        "m" + valid_files().merges, std::string("m#version: 0.2\r\na b\r\n\r\n")}) {
    result.emplace_back(seed.begin(), seed.end());
  }
  return result;
}

void fuzz::check(byte_view input) {
  if (input.empty()) {
    return;
  }
  const bool is_vocabulary = input[0] % 2 == 0;
  const byte_view content = input.subspan(1);
  const std::filesystem::path other = other_file(is_vocabulary ? "" : valid_files().vocab);
  const glia::byte_pair_tokenizer tokenizer =
      read_within({.for_each_byte = 160, .fixed = 256 << 10}, content, [&](const auto& path) {
        return is_vocabulary ? glia::read_byte_pair_tokenizer(path, other)
                             : glia::read_byte_pair_tokenizer(other, path);
      });
  without_error([&] {
    const std::string text(content.begin(), content.end());
    require(tokenizer.decode(tokenizer.encode(text)) == text,
            "the decoded text differs from the encoded text");
    for (std::size_t i = 0; i < tokenizer.vocabulary_size(); ++i) {
      const std::vector<std::int32_t> id{static_cast<std::int32_t>(i)};
      require(tokenizer.token(tokenizer.decode(id)) == id[0], "a token has another id");
    }
  });
}
