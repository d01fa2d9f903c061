#pragma once

#include <cstddef>
#include <glia/core/error.hpp>
#include <glia/core/utf8.hpp>
#include <glia/text/byte_characters.hpp>
#include <string>
#include <vector>

namespace test::samples {

/// The two files of a byte-pair tokenizer.
struct tokenizer_files {
  std::string vocab;
  std::string merges;
};

/// A tokenizer with a token for each byte, whose id is the byte, and these tokens behind them. Each
/// has its line in the vocabulary.
[[nodiscard]] inline tokenizer_files tokenizer_with(const std::vector<std::string>& tokens,
                                                    const std::string& merges = "") {
  std::string vocab = "{";
  for (std::size_t i = 0; i < 256 + tokens.size(); ++i) {
    std::string key;
    if (i >= 256) {
      key = tokens[i - 256];
    } else if (i == '"' || i == '\\') {
      key = {'\\', static_cast<char>(i)};
    } else {
      glia::detail::append_utf8(key, glia::detail::byte_characters[i]);
    }
    vocab += glia::text(i == 0 ? "" : ",\n", '"', key, "\":", i);
  }
  return {vocab + "}", merges};
}

}  // namespace test::samples
