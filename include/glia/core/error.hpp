#pragma once

#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace glia {

/// Base of everything that glia throws on purpose.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A tensor, batch or layer has a shape that does not fit where it is used.
struct shape_error : error {
  using error::error;
};

/// A hyper-parameter or argument is outside its range.
struct value_error : error {
  using error::error;
};

/// A file or a data set is missing, damaged or of another format than expected.
struct data_error : error {
  using error::error;
};

/// The parts, streamed one after the other into one string, alike in all of a program's locales.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

/// Throws `Error` with the parts as its message when `condition` does not hold.
template <class Error, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) {
    throw Error(text(parts...));
  }
}

}  // namespace glia
