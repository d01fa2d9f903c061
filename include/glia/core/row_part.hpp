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

/// One of several named tensors that are stored one after the other in a row. It is an input, an
/// output or the target of an output, for a model with several inputs or outputs.
struct row_part {
  std::string name;
  shape extents;            ///< shape of one sample
  std::size_t first = 0;    ///< index of the tensor's first element in the row
  std::size_t classes = 0;  ///< number of classes, if the elements are class indices; 0: any values
  output_kind gives = output_kind::other;
  std::string giver = {};  ///< layer that determines `gives`, for an output

  /// Returns the number of elements of one sample.
  [[nodiscard]] std::size_t size() const { return extents.size(); }
  /// Returns one past the index of the tensor's last element in the row.
  [[nodiscard]] std::size_t end() const { return first + size(); }
};

/// Returns the number of elements of a row.
[[nodiscard]] inline std::size_t row_size(const std::vector<row_part>& parts) {
  return parts.empty() ? 0 : parts.back().end();
}

namespace detail {

/// Returns the names and shapes of the tensors in a row, such as image (28, 28, 1), age (1).
[[nodiscard]] inline std::string parts_text(const std::vector<row_part>& parts) {
  std::string result;
  for (const row_part& part : parts) {
    result += text(result.empty() ? "" : ", ", part.name, ' ', part.extents);
  }
  return result.empty() ? "none with a name" : result;
}

/// Returns the part with this name. If there is none, throws `value_error` with the existing names.
[[nodiscard]] inline const row_part& part_called(std::string_view name,
                                                 const std::vector<row_part>& parts,
                                                 std::string_view caller) {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const row_part& part) { return part.name == name; });
  require<value_error>(found != parts.end(), caller, ": there is no tensor named '", name,
                       "'; the names are: ", parts_text(parts));
  return *found;
}

/// Throws `value_error` if rows do not match the inputs or outputs of a model.
inline void require_parts(std::string_view caller, std::string_view role,
                          const std::vector<row_part>& expected,
                          const std::vector<row_part>& actual) {
  const bool alike = std::equal(expected.begin(), expected.end(), actual.begin(), actual.end(),
                                [](const row_part& a, const row_part& b) {
                                  return a.name == b.name && a.size() == b.size();
                                });
  require<value_error>(alike, caller, ": the model's ", role, " are ", parts_text(expected),
                       ", got ", parts_text(actual), "; give them by these names, in this order");
}

}  // namespace detail

}  // namespace glia
