#pragma once

#include <initializer_list>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>

namespace glia {

/// Base class of all exceptions that glia throws.
struct error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown if a tensor, batch or layer has the wrong shape for its use.
struct shape_error : error {
  using error::error;
};

/// Thrown if an argument or hyper-parameter is outside its range.
struct value_error : error {
  using error::error;
};

/// Thrown if a file or data set is missing, damaged or in an unexpected format.
struct data_error : error {
  using error::error;
};

/// Thrown if a device, or the software that drives it, is missing or fails.
struct device_error : error {
  using error::error;
};

namespace detail {

/// A reference to one part of a message, which is any value that can be written to a stream. With
/// it, one function assembles the messages from parts of all types: programs contain hundreds of
/// messages, and none of them has to be fast.
class text_part {
 public:
  text_part(const char* characters) : value_(characters), write_(&write_characters) {}
  template <class T>
  text_part(const T& value) : value_(&value), write_(&write_value<T>) {}

  friend std::ostream& operator<<(std::ostream& out, const text_part& part) {
    part.write_(out, part.value_);
    return out;
  }

 private:
  static void write_characters(std::ostream& out, const void* value) {
    out << static_cast<const char*>(value);
  }
  template <class T>
  static void write_value(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }

  const void* value_;
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

/// Thrown if there is not enough memory for a tensor. Callers that know the purpose of the tensor
/// throw an error with another message instead.
struct memory_error : value_error {
  using value_error::value_error;
};

template <class Error>
[[noreturn]] void fail(std::initializer_list<text_part> parts) {
  throw Error(joined(parts));
}

}  // namespace detail

/// Writes the parts one after the other into one string. The result is independent of the program's
/// locale.
template <class... Parts>
[[nodiscard]] std::string text(const Parts&... parts) {
  return detail::joined({parts...});
}

/// Throws `Error` with the concatenated parts as its message if `condition` is false.
template <class Error, class... Parts>
void require(bool condition, const Parts&... parts) {
  if (!condition) {
    detail::fail<Error>({parts...});
  }
}

}  // namespace glia
