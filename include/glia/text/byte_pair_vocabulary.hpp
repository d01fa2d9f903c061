#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/mapped_file.hpp"
#include "glia/core/utf8.hpp"
#include "glia/text/byte_characters.hpp"
#include "glia/text/json_integers.hpp"

namespace glia::detail {

/// The merge of two neighboring tokens into one. Merges of a lower rank come first.
struct token_merge {
  std::uint32_t rank = 0;
  std::int32_t merged = 0;
};

/// The tokens and merges of a byte-pair tokenizer. It cannot be copied, because the keys of `ids`
/// refer to `tokens`.
struct byte_pair_vocabulary {
  byte_pair_vocabulary() = default;
  byte_pair_vocabulary(const byte_pair_vocabulary&) = delete;
  byte_pair_vocabulary& operator=(const byte_pair_vocabulary&) = delete;

  std::vector<std::string> tokens;                         ///< The bytes of each token.
  std::unordered_map<std::string_view, std::int32_t> ids;  ///< The id of each token, by its bytes.
  std::array<std::int32_t, 256> byte_ids{};                ///< The id of the token of each byte.
  std::unordered_map<std::uint64_t, token_merge> merges;   ///< By `pair_key`.
  std::vector<bool> is_word;  ///< Whether the merges turn the token's bytes into this one token.

  [[nodiscard]] static std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32U | static_cast<std::uint32_t>(right);
  }
};

[[nodiscard]] inline std::string_view text_in(const mapped_file& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

/// Reads the tokens of GPT-2's vocab.json. The vocabulary must be empty.
inline void read_tokens(const std::filesystem::path& path, byte_pair_vocabulary& vocabulary) {
  const std::string file = path.string();
  const mapped_file content(path);
  const auto members = json_integer_reader(text_in(content), file).read();
  require<data_error>(members.size() <= std::numeric_limits<std::int32_t>::max(), file,
                      ": expected fewer than 2^31 tokens, got ", members.size());
  vocabulary.tokens.resize(members.size());
  vocabulary.ids.reserve(members.size());
  for (const json_integer& member : members) {
    const auto require_here = [&](bool condition, const auto&... message) {
      if (!condition) {
        fail<data_error>({place_in(text_in(content), member.position, file), ": ", message...});
      }
    };
    require_here(!member.key.empty(), "expected a token, got an empty text");
    require_here(member.value < members.size(), "expected an id below ", members.size(),
                 ", the number of tokens, got ", member.value);
    std::string& token = vocabulary.tokens[static_cast<std::size_t>(member.value)];
    require_here(token.empty(), "the id ", member.value,
                 " occurs twice; expected another id for each token");
    token = token_bytes(member.key);
    const bool is_new =
        vocabulary.ids.emplace(token, static_cast<std::int32_t>(member.value)).second;
    require_here(is_new, "the token '", member.key, "' occurs twice");
  }
  for (std::size_t byte = 0; byte < vocabulary.byte_ids.size(); ++byte) {
    const auto found = vocabulary.ids.find(std::string(1, static_cast<char>(byte)));
    if (found == vocabulary.ids.end()) {
      std::string spelling;
      append_utf8(spelling, byte_characters[byte]);
      fail<data_error>({file, ": expected a token for each of the 256 bytes, got no '", spelling,
                        "' for the byte ", byte,
                        "; is this the vocabulary of a byte-level tokenizer?"});
    }
    vocabulary.byte_ids[byte] = found->second;
  }
}

/// Reads the merges of GPT-2's merges.txt into a vocabulary with tokens.
inline void read_merges(const std::filesystem::path& path, byte_pair_vocabulary& vocabulary) {
  const std::string file = path.string();
  const mapped_file content(path);
  std::string_view rest = text_in(content);
  rest = rest.substr(0, rest.find_last_not_of("\r\n") + 1);
  for (std::size_t line_number = 1; !rest.empty(); ++line_number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    line.remove_suffix(line.ends_with('\r') ? 1 : 0);
    if (line_number == 1 && line.starts_with("#version")) {
      continue;
    }
    const auto require_here = [&](bool condition, const auto&... message) {
      require<data_error>(condition, file, ':', line_number, ": ", message...);
    };
    const std::size_t space = std::min(line.find(' '), line.size());
    const std::string_view left = line.substr(0, space);
    const std::string_view right = line.substr(std::min(space + 1, line.size()));
    require_here(is_utf8(line) && !left.empty() && !right.empty() &&
                     right.find(' ') == std::string_view::npos,
                 "expected two tokens with one space between them, in UTF-8");
    const auto id_of = [&](const std::string& bytes, const char* name) {
      const auto found = vocabulary.ids.find(bytes);
      require_here(found != vocabulary.ids.end(), "the ", name,
                   " is not in the vocabulary; expected two files of the same tokenizer");
      return found->second;
    };
    const std::string left_bytes = token_bytes(left);
    const std::string right_bytes = token_bytes(right);
    const std::int32_t left_id = id_of(left_bytes, "first token");
    const std::int32_t right_id = id_of(right_bytes, "second token");
    const token_merge merge{static_cast<std::uint32_t>(vocabulary.merges.size()),
                            id_of(left_bytes + right_bytes, "merged token")};
    const std::uint64_t key = byte_pair_vocabulary::pair_key(left_id, right_id);
    require_here(vocabulary.merges.emplace(key, merge).second, "the pair occurs twice");
  }
}

}  // namespace glia::detail
