#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <istream>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/half.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/representable.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// The element types that `read_npy` can return: float, double, and integers of 8 to 64 bits.
template <class T>
concept npy_element = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool>);

namespace detail {

/// Reads one array in NumPy's format. The header is checked before memory is allocated.
class npy_reader {
 public:
  /// `location` names the array in error messages.
  npy_reader(std::istream& stream, std::string location)
      : path_(std::move(location)), stream_(stream) {}

  template <npy_element T>
  [[nodiscard]] xt::xarray<T> read() {
    read_header();
    return within_memory(path_, [&] {
      if (elements_ == "f2") {
        return elements<T, half>();
      }
      if (elements_ == "f4") {
        return elements<T, float>();
      }
      if (elements_ == "f8") {
        return elements<T, double>();
      }
      if (elements_ == "i1") {
        return elements<T, std::int8_t>();
      }
      if (elements_ == "u1" || elements_ == "b1") {
        return elements<T, std::uint8_t>();
      }
      if (elements_ == "i2") {
        return elements<T, std::int16_t>();
      }
      if (elements_ == "u2") {
        return elements<T, std::uint16_t>();
      }
      if (elements_ == "i4") {
        return elements<T, std::int32_t>();
      }
      if (elements_ == "u4") {
        return elements<T, std::uint32_t>();
      }
      if (elements_ == "i8") {
        return elements<T, std::int64_t>();
      }
      if (elements_ == "u8") {
        return elements<T, std::uint64_t>();
      }
      throw unreadable_elements(text(path_,
                                     ": expected elements of a floating-point type (f2, f4, f8), "
                                     "an integer type (i1, u1, i2, u2, i4, u4, i8, u8) or booleans "
                                     "(b1), got ",
                                     descr_, "; convert the array before saving it"));
    });
  }

 private:
  // The header is a dictionary with padding; version 1.0 allows at most this many bytes.
  static constexpr std::size_t max_header = 0xFFFF;

  /// Reads the header: the element type, the order of the axes and the shape. Afterwards, the
  /// stream is at the first element.
  void read_header() {
    // Bytes: the magic, the version, the header's length in 2 bytes or, since version 2.0, in 4.
    std::string start(10, '\0');
    stream_.read(start.data(), 10);
    require<data_error>(stream_.good() && start.starts_with("\x93NUMPY"), path_,
                        ": expected a file written by numpy.save, which begins with \\x93NUMPY; "
                        "the file is in another format or truncated");
    const auto byte = [&](std::size_t i) {
      return std::size_t{static_cast<std::uint8_t>(start[i])};
    };
    require<data_error>(byte(6) >= 1 && byte(6) <= 3 && byte(7) == 0, path_,
                        ": expected version 1.0, 2.0 or 3.0 of NumPy's format, got ", byte(6), '.',
                        byte(7));
    if (byte(6) > 1) {
      start.resize(12);
      stream_.read(start.data() + 10, 2);
      require<data_error>(stream_.good(), path_, ": the file is truncated before its header");
    }
    const std::uint64_t length = little_endian(std::string_view(start).substr(8));
    require<data_error>(length <= max_header, path_, ": expected a header of at most ", max_header,
                        " bytes, got one of ", length, " bytes");
    const auto header =
        read_announced<std::string>(length, [&](char* destination, std::size_t count) {
          stream_.read(destination, static_cast<std::streamsize>(count));
          return stream_.gcount();
        });
    require<data_error>(header.size() == length, path_,
                        ": the file is truncated within its header of ", length, " bytes");
    if (!parse(header)) {
      constexpr std::size_t shown = 200;
      const std::string content = header.substr(0, header.find_last_not_of(" \n") + 1);
      throw data_error(text(path_,
                            ": expected a header with descr, fortran_order and shape, as "
                            "numpy.save writes it, got ",
                            content.substr(0, shown), content.size() > shown ? "..." : ""));
    }
  }

  /// Parses a header, which is a Python dictionary with the element type, the order of the axes and
  /// the shape. Returns false for any other text.
  [[nodiscard]] bool parse(std::string_view remaining) {
    const auto pass = [&](std::string_view part) {
      remaining.remove_prefix(std::min(remaining.find_first_not_of(" \n"), remaining.size()));
      const bool found = remaining.starts_with(part);
      remaining.remove_prefix(found ? part.size() : 0);
      return found;
    };
    // A text in single or double quotes.
    const auto quoted = [&](std::string& result) {
      const char quote = pass("'") ? '\'' : pass("\"") ? '"' : '\0';
      const std::size_t end = quote == '\0' ? std::string_view::npos : remaining.find(quote);
      if (end == std::string_view::npos) {
        return false;
      }
      result = remaining.substr(0, end);
      remaining.remove_prefix(end + 1);
      return true;
    };
    const auto order = [&] {
      first_axis_fastest_ = pass("True");
      return first_axis_fastest_ || pass("False");
    };
    if (!pass("{")) {
      return false;
    }
    std::set<std::string> known;
    for (bool comma = true; !pass("}"); comma = pass(",")) {
      std::string key;
      if (!comma || !quoted(key) || !pass(":") || !known.insert(key).second) {
        return false;
      }
      const bool read = key == "descr"           ? parse_elements(remaining, quoted)
                        : key == "fortran_order" ? order()
                                                 : key == "shape" && parse_shape(remaining, pass);
      if (!read) {
        return false;
      }
    }
    return pass("") && remaining.empty() && known.size() == 3;
  }

  /// Parses an element type such as <f4: byte order, kind and number of bytes.
  template <class Quoted>
  [[nodiscard]] bool parse_elements(std::string_view& remaining, const Quoted& quoted) {
    if (const std::size_t list = remaining.find_first_not_of(' ');
        list < remaining.size() && remaining[list] == '[') {
      descr_ = "records (a structured dtype)";
      std::size_t end = list;
      for (int depth = 0; end < remaining.size(); ++end) {
        depth += remaining[end] == '[' ? 1 : remaining[end] == ']' ? -1 : 0;
        if (depth == 0) {
          remaining.remove_prefix(end + 1);
          return true;
        }
      }
      return false;
    }
    if (!quoted(descr_)) {
      return false;
    }
    elements_ = descr_;
    if (constexpr std::string_view orders = "<>=|";
        !elements_.empty() && orders.find(elements_.front()) != std::string_view::npos) {
      big_endian_ = elements_.front() == '>';
      elements_.erase(0, 1);
    }
    return true;
  }

  template <class Pass>
  [[nodiscard]] bool parse_shape(std::string_view& remaining, const Pass& pass) {
    if (!pass("(")) {
      return false;
    }
    const std::string_view start = remaining;
    bool comma = true;
    while (!pass(")")) {
      constexpr std::ptrdiff_t max_digits = 18;
      std::uint64_t extent = 0;
      // Not with a stream, because its result would depend on the program's locale.
      const auto [end, failure] =
          std::from_chars(remaining.data(), remaining.data() + remaining.size(), extent);
      if (!comma || failure != std::errc() || end - remaining.data() > max_digits) {
        return false;
      }
      remaining.remove_prefix(static_cast<std::size_t>(end - remaining.data()));
      shape_.push_back(extent);
      pass("L");  // Python 2 wrote extents such as 5L
      comma = pass(",");
    }
    shape_text_ = start.substr(0, start.size() - remaining.size() - 1);
    return shape_.size() != 1 || comma;
  }

  /// Throws `data_error` unless the rest of the file has exactly as many elements as the shape.
  /// Divides by the extents instead of multiplying them, because their product could overflow.
  void require_size(std::size_t element) {
    const std::streamoff first = stream_.tellg();
    stream_.seekg(0, std::ios::end);
    const auto bytes = static_cast<std::uint64_t>(stream_.tellg() - first);
    stream_.seekg(first);
    const bool empty = std::find(shape_.begin(), shape_.end(), 0U) != shape_.end();
    bool whole = memory_size(bytes) % element == 0;
    std::uint64_t remaining = bytes / element;
    for (const std::uint64_t extent : shape_) {
      whole = whole && (empty || remaining % extent == 0);
      remaining = empty ? remaining : remaining / extent;
    }
    require<data_error>(whole && remaining == (empty ? 0U : 1U), path_, ": expected elements ",
                        descr_, " of the shape (", shape_text_, ") after the header, got ", bytes,
                        " bytes, a different number; the file is damaged or truncated");
  }

  template <class T, class Stored>
  [[nodiscard]] xt::xarray<T> elements() {
    require_size(sizeof(Stored));
    typename xt::xarray<T>::shape_type extents(shape_.begin(), shape_.end());
    if (first_axis_fastest_) {
      std::reverse(extents.begin(), extents.end());
    }
    xt::xarray<T> values(extents);
    constexpr std::size_t piece = 4096;
    std::vector<Stored> stored(std::min(piece, values.size()));
    const bool truth = elements_ == "b1";
    const auto number = [&](std::size_t i) {
      const auto value = number_of(stored[i]);
      return static_cast<decltype(value)>(truth ? value != 0 : value);
    };
    for (std::size_t done = 0; done < values.size(); done += stored.size()) {
      stored.resize(std::min(stored.size(), values.size() - done));
      stream_.read(reinterpret_cast<char*>(stored.data()),
                   static_cast<std::streamsize>(stored.size() * sizeof(Stored)));
      require<data_error>(stream_.good(), path_, ": reading the file failed");
      if (big_endian_ != is_big_endian) {
        reverse_bytes(std::as_writable_bytes(std::span(stored)), sizeof(Stored));
      }
      convert_numbers(stored.size(), number, values.data() + done, path_, descr_,
                      std::integral<Stored> ? "read the array as another type, for instance with "
                                              "read_npy<std::int64_t>"
                                            : "read the array as another type, for instance with "
                                              "read_npy<double>",
                      done);
    }
    if (first_axis_fastest_ && shape_.size() > 1) {
      return xt::xarray<T>(xt::transpose(values));
    }
    return values;
  }

  template <class Stored>
  [[nodiscard]] static auto number_of(Stored stored) {
    if constexpr (std::same_as<Stored, half>) {
      return stored.value();
    } else {
      return stored;
    }
  }

  std::string path_;
  std::istream& stream_;
  std::string descr_;     // element type as NumPy writes it: <f4
  std::string elements_;  // element type without the byte order: f4
  bool big_endian_ = false;
  bool first_axis_fastest_ = false;
  std::string shape_text_;  // without the parentheses
  std::vector<std::uint64_t> shape_;
};

}  // namespace detail

/// Reads an array from a NumPy file (`.npy`), as `numpy.save` writes it.
///
/// The elements are converted to float, or to the type that you name, as in
/// `read_npy<double>(path)`. The file may hold floating-point numbers of 16 to 64 bits, integers of
/// 8 to 64 bits, or booleans. The function supports both byte orders, row-major and column-major
/// arrays, and the versions 1.0 to 3.0 of the format.
///
/// Doubles are rounded to the nearest float. All other conversions must be exact; otherwise they
/// are an error. Errors are, for instance, the integer 2^24 + 1 read as a float, a fraction read as
/// an integer, and a double outside the range of float, such as 1e300, read as a float.
///
/// Throws `data_error`, with the name of the file, if the file cannot be opened, has another
/// format, or is damaged or truncated. Throws `data_error`, too, if the type cannot represent an
/// element.
template <npy_element T = float>
[[nodiscard]] xt::xarray<T> read_npy(const file_source& file) {
  const std::unique_ptr<std::istream> stream = file.open();
  return detail::npy_reader(*stream, file.name()).read<T>();
}

}  // namespace glia
