#pragma once

#include <initializer_list>
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

/// A device, or the software that drives it, is missing or has failed.
struct device_error : error {
  using error::error;
};

namespace detail {

/// A part of a message: refers to anything that can be streamed. Messages are put together by one
/// function for all types, since programs hold hundreds of them and need none to be fast.
class text_part {
 public:
  text_part(const char* characters) : at_(characters), write_(&write_characters) {}
  template <class T>
  text_part(const T& value) : at_(&value), write_(&write_value<T>) {}

  friend std::ostream& operator<<(std::ostream& out, const text_part& part) {
    part.write_(out, part.at_);
    return out;
  }

 private:
  static void write_characters(std::ostream& out, const void* at) {
    out << static_cast<const char*>(at);
  }
  template <class T>
  static void write_value(std::ostream& out, const void* at) {
    out << *static_cast<const T*>(at);
  }

  const void* at_;
  void (*write_)(std::ostream&, const void*);
};

[[nodiscard]] inline std::string joined(std::initializer_list<text_part> parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  for (const text_part& part : parts) {
    out << part;
  }
  return out.str();
}

template <class Error>
[[noreturn]] void fail(std::initializer_list<text_part> parts) {
  throw Error(joined(parts));
}

}  // namespace detail

/// The parts, streamed one after the other into one string, alike in all of a program's locales.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  return detail::joined({parts...});
}

/// Throws `Error` with the parts as its message when `condition` does not hold.
template <class Error, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) {
    detail::fail<Error>({parts...});
  }
}

}  // namespace glia
