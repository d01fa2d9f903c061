#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// One of several tensors with names that lie one behind the other in a row: an input or an output
/// of a model that has several, or what an output should have been.
struct row_part {
  std::string name;
  shape extents;            ///< of one sample
  std::size_t first = 0;    ///< where it begins in the row
  std::size_t classes = 0;  ///< that the elements are to be one of, 0 to this less 1; 0: any values
  output_kind gives = output_kind::other;
  std::string giver = {};  ///< of an output, the layer that made it so

  [[nodiscard]] std::size_t size() const { return extents.size(); }
  [[nodiscard]] std::size_t end() const { return first + size(); }
};

/// The number of elements of a row.
[[nodiscard]] inline std::size_t row_size(const std::vector<row_part>& parts) {
  return parts.empty() ? 0 : parts.back().end();
}

/// What a row holds, in words: image (28, 28, 1), age (1).
[[nodiscard]] inline std::string parts_text(const std::vector<row_part>& parts) {
  std::string result;
  for (const row_part& part : parts) {
    result += text(result.empty() ? "" : ", ", part.name, ' ', part.extents);
  }
  return result.empty() ? "none with a name" : result;
}

/// The part of this name. Throws `value_error`, saying which there are.
[[nodiscard]] inline const row_part& part_called(std::string_view name,
                                                 const std::vector<row_part>& parts,
                                                 std::string_view where) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const row_part& part) { return part.name == name; });
  require<value_error>(found != parts.end(), where, ": nothing is called '", name,
                       "'; there are: ", parts_text(parts));
  return *found;
}

/// Throws `value_error` where rows do not hold what a model's inputs or targets are.
inline void require_parts(std::string_view what, std::string_view of,
                          const std::vector<row_part>& expected, const std::vector<row_part>& got) {
  const bool alike = std::equal(expected.begin(), expected.end(), got.begin(), got.end(),
                                [](const row_part& a, const row_part& b) {
                                  return a.name == b.name && a.size() == b.size();
                                });
  require<value_error>(alike, what, ": the model's ", of, " are ", parts_text(expected), ", got ",
                       parts_text(got), "; give them by these names, in this order");
}

}  // namespace glia
