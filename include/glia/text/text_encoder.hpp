#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glia/text/byte_pair_vocabulary.hpp"
#include "glia/text/word_merger.hpp"
#include "glia/text/words.hpp"

namespace glia::detail {

/// Encodes the parts of one text.
class text_encoder {
 public:
  /// The vocabulary must outlive the object.
  explicit text_encoder(const byte_pair_vocabulary& vocabulary)
      : vocabulary_(vocabulary), merger_(vocabulary) {}

  /// Appends the tokens of a part. The text must outlive the object.
  void append(std::string_view part) {
    while (!part.empty()) {
      const std::size_t bytes = first_word(part);
      append_word(part.substr(0, bytes));
      part.remove_prefix(bytes);
    }
  }
  void append(std::int32_t id) { ids_.push_back(id); }

  /// The tokens of all parts.
  [[nodiscard]] std::vector<std::int32_t>& ids() { return ids_; }

 private:
  void append_word(std::string_view word) {
    const auto whole = vocabulary_.ids.find(word);
    if (whole != vocabulary_.ids.end() &&
        vocabulary_.is_word[static_cast<std::size_t>(whole->second)]) {
      append(whole->second);
      return;
    }
    constexpr std::size_t max_words = 100'000;
    if (words_.size() == max_words) {
      words_.clear();
    }
    const auto [known, is_new] = words_.try_emplace(word, ids_.size(), ids_.size());
    auto& [begin, end] = known->second;
    if (is_new) {
      merger_.append(word, ids_);
      end = ids_.size();
    }
    for (std::size_t i = begin; !is_new && i < end; ++i) {
      append(ids_[i]);
    }
  }

  const byte_pair_vocabulary& vocabulary_;
  word_merger merger_;
  std::vector<std::int32_t> ids_;
  // For each word of several tokens, where its tokens begin and end in ids_.
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> words_;
};

}  // namespace glia::detail
