#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace glia::detail {

/// Returns the path with a name in UTF-8. On Windows, MinGW's C++ library takes a path of `char`
/// for another encoding.
[[nodiscard]] inline std::filesystem::path utf8_path(std::string_view name) {
  return std::u8string(name.begin(), name.end());
}

}  // namespace glia::detail
