#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "glia/text/byte_pair_vocabulary.hpp"

namespace glia::detail {

/// Divides words into tokens: begins with one token for each byte and merges neighbors, those of
/// the lowest rank first and from left to right. A word of n bytes takes O(n log n).
class word_merger {
 public:
  /// The vocabulary must outlive the object.
  explicit word_merger(const byte_pair_vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Appends the tokens of a word to `ids`.
  void append(std::string_view word, std::vector<std::int32_t>& ids) {
    symbols_.clear();
    for (std::size_t i = 0; i < word.size(); ++i) {
      const std::int32_t id = vocabulary_.byte_ids[static_cast<unsigned char>(word[i])];
      symbols_.push_back({.id = id, .previous = i - 1, .next = i + 1});
    }
    for (std::size_t i = 0; i < symbols_.size(); ++i) {
      add_merge(i);
    }
    while (!merges_.empty()) {
      const auto [rank, position] = merges_.top();
      merges_.pop();
      symbol& left = symbols_[position];
      if (left.merge.rank != rank) {
        continue;  // one of the two symbols has been merged with another one
      }
      symbol& right = symbols_[left.next];
      left.id = left.merge.merged;
      left.next = right.next;
      right.merge.rank = no_merge;
      if (left.next < symbols_.size()) {
        symbols_[left.next].previous = position;
      }
      add_merge(position);
      if (position > 0) {
        add_merge(left.previous);
      }
    }
    for (std::size_t i = 0; i < symbols_.size(); i = symbols_[i].next) {
      ids.push_back(symbols_[i].id);
    }
  }

 private:
  static constexpr auto no_merge = std::numeric_limits<std::uint32_t>::max();

  /// A token of the word, at the position of its first byte.
  struct symbol {
    std::int32_t id = 0;
    token_merge merge{.rank = no_merge};  // with the next symbol
    std::size_t previous = 0;
    std::size_t next = 0;
  };
  using rank_and_position = std::tuple<std::uint32_t, std::size_t>;

  /// Finds the merge of the symbol at `position` with the next one.
  void add_merge(std::size_t position) {
    symbol& left = symbols_[position];
    left.merge.rank = no_merge;
    if (left.next < symbols_.size()) {
      const auto found =
          vocabulary_.merges.find(byte_pair_vocabulary::pair_key(left.id, symbols_[left.next].id));
      if (found != vocabulary_.merges.end()) {
        left.merge = found->second;
        merges_.emplace(left.merge.rank, position);
      }
    }
  }

  const byte_pair_vocabulary& vocabulary_;
  std::vector<symbol> symbols_;
  std::priority_queue<rank_and_position, std::vector<rank_and_position>, std::greater<>> merges_;
};

/// Finds the tokens of a vocabulary that are words: its merges turn their bytes into one token.
inline void find_words(byte_pair_vocabulary& vocabulary) {
  word_merger merger(vocabulary);
  std::vector<std::int32_t> ids;
  for (const std::string& token : vocabulary.tokens) {
    ids.clear();
    merger.append(token, ids);
    vocabulary.is_word.push_back(ids.size() == 1);
  }
}

}  // namespace glia::detail
