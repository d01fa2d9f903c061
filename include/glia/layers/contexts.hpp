#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "glia/ops/tape.hpp"

namespace glia {

/// A sequence that later layers read by name; see `context`.
struct context_sequence {
  std::string name;  ///< Name of the sequence.
  variable steps;    ///< The sequence (N, T, C).
  tensor mask;       ///< Its mask (N, T), or an empty tensor.
};

namespace detail {

/// The sequences that the layers of a run have stored by name.
class contexts {
 public:
  /// Stores a sequence. It replaces a sequence of the same name.
  void store(const context_sequence& sequence) {
    std::erase_if(sequences_,
                  [&](const context_sequence& known) { return known.name == sequence.name; });
    sequences_.push_back(sequence);
  }
  /// Returns the sequence of this name, or null if no layer has stored it.
  [[nodiscard]] const context_sequence* find(std::string_view name) const {
    const auto found =
        std::find_if(sequences_.begin(), sequences_.end(),
                     [&](const context_sequence& known) { return known.name == name; });
    return found == sequences_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    result.reserve(sequences_.size());
    for (const context_sequence& sequence : sequences_) {
      result.push_back(sequence.name);
    }
    return result;
  }

 private:
  std::vector<context_sequence> sequences_;
};

}  // namespace detail

}  // namespace glia
