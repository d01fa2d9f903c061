#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/text/byte_pair_vocabulary.hpp"
#include "glia/text/text_encoder.hpp"
#include "glia/text/word_merger.hpp"

namespace glia {

/// Options of `byte_pair_tokenizer::encode`.
struct encode_options {
  /// Special tokens, such as "<|endoftext|>", that become one token wherever they occur in a text.
  /// Of several that begin at one place, the longest is taken. By default, they are ordinary text.
  std::vector<std::string> special_tokens{};
};

/// A byte-level byte-pair tokenizer like that of GPT-2: converts texts to the ids of tokens, and
/// back. `read_byte_pair_tokenizer` makes one.
///
/// A text is divided into words, the matches of GPT-2's pattern
///
///     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
///
/// with the letters, numbers and white space of Unicode 16. In each word, neighboring tokens are
/// merged, beginning with single bytes. Any text can be encoded, and decoding returns it exactly. A
/// byte that is not part of a valid UTF-8 character is neither letter, number nor white space.
///
/// Copies share one vocabulary. Any number of threads can use one tokenizer.
///
/// Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units", ACL
/// 2016; Radford et al., "Language models are unsupervised multitask learners", 2019.
class byte_pair_tokenizer {
 public:
  explicit byte_pair_tokenizer(std::shared_ptr<const detail::byte_pair_vocabulary> vocabulary)
      : vocabulary_(std::move(vocabulary)) {}

  /// Returns the ids of the tokens of a text. Throws `value_error` if a special token of the
  /// options is not in the vocabulary.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text,
                                                 const encode_options& options = {}) const {
    // For each special token, its next position from `begin` on.
    struct occurrence {
      std::string_view token;
      std::int32_t id;
      std::size_t position;
    };
    std::vector<occurrence> occurrences;
    occurrences.reserve(options.special_tokens.size());
    for (const std::string& special : options.special_tokens) {
      occurrences.push_back({special, token(special), text.find(special)});
    }
    detail::text_encoder encoder(*vocabulary_);
    std::size_t begin = 0;
    const auto comes_first = [](const occurrence& a, const occurrence& b) {
      return a.position < b.position ||
             (a.position == b.position && a.token.size() > b.token.size());
    };
    while (!occurrences.empty()) {
      const occurrence next =
          *std::min_element(occurrences.begin(), occurrences.end(), comes_first);
      if (next.position == std::string_view::npos) {
        break;
      }
      encoder.append(text.substr(begin, next.position - begin));
      encoder.append(next.id);
      begin = next.position + next.token.size();
      for (occurrence& o : occurrences) {
        if (o.position < begin) {
          o.position = text.find(o.token, begin);
        }
      }
    }
    encoder.append(text.substr(begin));
    return std::move(encoder.ids());
  }

  /// Returns the bytes of the tokens, one after the other. They need not be valid UTF-8, since the
  /// bytes of one character can be in several tokens. Throws `value_error` for an id that is not in
  /// the vocabulary.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const {
    std::string result;
    for (const std::int32_t id : ids) {
      require<value_error>(id >= 0 && static_cast<std::size_t>(id) < vocabulary_size(),
                           "decode: expected ids from 0 to ", vocabulary_size() - 1, ", got ", id);
      result += vocabulary_->tokens[static_cast<std::size_t>(id)];
    }
    return result;
  }

  /// Returns the id of a token, such as " the" or "<|endoftext|>". Throws `value_error` if it is
  /// not in the vocabulary.
  [[nodiscard]] std::int32_t token(std::string_view text) const {
    const auto found = vocabulary_->ids.find(text);
    require<value_error>(found != vocabulary_->ids.end(),
                         "byte_pair_tokenizer: expected one of the ", vocabulary_size(),
                         " tokens of the vocabulary, got '", text, "'");
    return found->second;
  }

  /// Returns the number of tokens. Their ids are 0, ..., vocabulary_size() - 1.
  [[nodiscard]] std::size_t vocabulary_size() const noexcept { return vocabulary_->tokens.size(); }

 private:
  std::shared_ptr<const detail::byte_pair_vocabulary> vocabulary_;
};

/// Reads a tokenizer from the two files that GPT-2 uses: `vocab.json`, a JSON object with the id of
/// each token, and `merges.txt`, with one pair of tokens to merge in each line, in the order of the
/// merges. The ids must be 0, ..., n - 1, each byte must have a token, and so must both parts and
/// the result of each merge.
///
///     const auto tokenizer = glia::read_byte_pair_tokenizer("vocab.json", "merges.txt");
///     const std::vector<std::int32_t> ids = tokenizer.encode("Hello world");
///
/// Throws `data_error`, with file and line, if a file cannot be read or has other contents.
[[nodiscard]] inline byte_pair_tokenizer read_byte_pair_tokenizer(
    const std::filesystem::path& vocab_path, const std::filesystem::path& merges_path) {
  auto vocabulary = std::make_shared<detail::byte_pair_vocabulary>();
  detail::within_memory(vocab_path.string(), [&] { detail::read_tokens(vocab_path, *vocabulary); });
  detail::within_memory(merges_path.string(), [&] {
    detail::read_merges(merges_path, *vocabulary);
    detail::find_words(*vocabulary);
  });
  return byte_pair_tokenizer(std::move(vocabulary));
}

}  // namespace glia
