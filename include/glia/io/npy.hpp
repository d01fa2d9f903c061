#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/half.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/xtensor.hpp"

namespace glia {

/// What the elements of a file can be read as: float, double, or integers of 8 to 64 bits.
template <class T>
concept npy_element = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool>);

namespace detail {

/// Whether `to` can be of the value, but for what doubles lose when they become floats.
template <npy_element To, class From>
[[nodiscard]] bool representable(From value) {
  if constexpr (std::floating_point<To> && std::floating_point<From>) {
    return true;
  } else if constexpr (std::floating_point<To>) {
    // A rounded value may be one more than From has, and could not be compared as a From.
    const To rounded = static_cast<To>(value);
    return rounded < std::ldexp(To{1}, std::numeric_limits<From>::digits) &&
           static_cast<From>(rounded) == value;
  } else if constexpr (std::floating_point<From>) {
    return std::trunc(value) == value &&
           value >= static_cast<From>(std::numeric_limits<To>::min()) &&
           value < std::ldexp(From{1}, std::numeric_limits<To>::digits);
  } else {
    return std::in_range<To>(value);
  }
}

static_assert(std::endian::native == std::endian::little, "files are read as they lie in memory");

// What a file says of itself is checked before it takes any memory.
class npy_reader {
 public:
  /// `where` names the array in errors.
  npy_reader(std::istream& in, std::string where) : path_(std::move(where)), in_(in) {}

  template <npy_element T>
  [[nodiscard]] xt::xarray<T> read() {
    read_header();
    return within_memory(path_, [&] {
      if (elements_ == "<f2") {
        return elements<T, half>();
      }
      if (elements_ == "<f4") {
        return elements<T, float>();
      }
      if (elements_ == "<f8") {
        return elements<T, double>();
      }
      if (elements_ == "|i1") {
        return elements<T, std::int8_t>();
      }
      if (elements_ == "|u1" || elements_ == "|b1") {
        return elements<T, std::uint8_t>();
      }
      if (elements_ == "<i2") {
        return elements<T, std::int16_t>();
      }
      if (elements_ == "<u2") {
        return elements<T, std::uint16_t>();
      }
      if (elements_ == "<i4") {
        return elements<T, std::int32_t>();
      }
      if (elements_ == "<u4") {
        return elements<T, std::uint32_t>();
      }
      if (elements_ == "<i8") {
        return elements<T, std::int64_t>();
      }
      if (elements_ == "<u8") {
        return elements<T, std::uint64_t>();
      }
      throw data_error(text(path_,
                            ": expected elements that are floats (<f2, <f4, <f8), integers "
                            "(|i1, |u1, <i2, <u2, <i4, <u4, <i8, <u8) or truth values (|b1), got ",
                            elements_, "; convert it before"));
    });
  }

 private:
  static constexpr std::size_t preamble = 10;  // bytes: the magic, the version, the header's length
  // NumPy's headers have 118 bytes up to some 15 axes.
  static constexpr std::size_t max_header = 1024;

  /// Finds out elements, order and shape, and leaves the file where the elements begin.
  void read_header() {
    std::string start(preamble, '\0');
    in_.read(start.data(), preamble);
    require<data_error>(in_.good() && start.starts_with("\x93NUMPY"), path_,
                        ": expected a file of numpy.save, which begins with \\x93NUMPY; it is of "
                        "another format or cut short");
    const auto byte = [&](std::size_t i) {
      return std::size_t{static_cast<std::uint8_t>(start[i])};
    };
    require<data_error>(byte(6) == 1 && byte(7) == 0, path_,
                        ": expected version 1.0 of NumPy's format, got ", byte(6), '.', byte(7));
    const std::size_t length = byte(8) + 256 * byte(9);
    require<data_error>(length <= max_header, path_, ": expected a header of at most ", max_header,
                        " bytes, got one of ", length);
    std::string header(length, '\0');
    in_.read(header.data(), static_cast<std::streamsize>(length));
    require<data_error>(in_.good(), path_, ": cut short in its header of ", length, " bytes");
    require<data_error>(parse(header), path_,
                        ": expected a header as numpy.save writes it, with descr, fortran_order "
                        "and shape, got ",
                        header.substr(0, header.find_last_not_of(" \n") + 1));
  }

  /// Takes elements, order and shape from a header; false for one that NumPy does not write.
  [[nodiscard]] bool parse(std::string_view left) {
    const auto pass = [&](std::string_view part) {
      const bool there = left.starts_with(part);
      left.remove_prefix(there ? part.size() : 0);
      return there;
    };
    const auto spaces = [&] {
      left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
      return true;
    };
    if (!pass("{") || !spaces() || !pass("'descr':") || !spaces() || !pass("'")) {
      return false;
    }
    elements_ = left.substr(0, left.find('\''));
    left.remove_prefix(elements_.size());
    if (!pass("',") || !spaces() || !pass("'fortran_order':") || !spaces()) {
      return false;
    }
    first_axis_fastest_ = pass("True");
    if ((!first_axis_fastest_ && !pass("False")) || !pass(",") || !spaces() || !pass("'shape':") ||
        !spaces() || !pass("(")) {
      return false;
    }
    const std::string_view from = left;
    bool comma = false;
    const auto digit = [&](std::size_t i) {
      return i < left.size() && left[i] >= '0' && left[i] <= '9';
    };
    while (digit(0)) {
      constexpr std::ptrdiff_t most_digits = 18;
      // A stream would read numbers as the program's locale writes them, commas and all.
      const auto [end, failure] =
          std::from_chars(left.data(), left.data() + left.size(), shape_.emplace_back());
      if (failure != std::errc() || end - left.data() > most_digits) {
        return false;
      }
      left.remove_prefix(static_cast<std::size_t>(end - left.data()));
      comma = pass(",");
      if (const std::size_t next = left.find_first_not_of(' '); digit(next)) {
        left.remove_prefix(comma ? next : 0);
      }
    }
    shape_text_ = from.substr(0, from.size() - left.size());
    if ((shape_.size() == 1 && !comma) || !pass(")")) {
      return false;
    }
    pass(",");
    return spaces() && pass("}") && spaces() && left == "\n";
  }

  /// Throws unless the rest of the file is as many elements as the shape says. The product of the
  /// extents is compared by division, as a product could overflow.
  void require_size(std::size_t element) {
    const std::streamoff first = in_.tellg();
    in_.seekg(0, std::ios::end);
    const auto bytes = static_cast<std::uint64_t>(in_.tellg() - first);
    in_.seekg(first);
    const bool empty = std::find(shape_.begin(), shape_.end(), 0U) != shape_.end();
    bool whole = bytes % element == 0;
    std::uint64_t left = bytes / element;
    for (const std::uint64_t extent : shape_) {
      whole = whole && (empty || left % extent == 0);
      left = empty ? left : left / extent;
    }
    require<data_error>(whole && left == (empty ? 0U : 1U), path_, ": expected elements ",
                        elements_, " of the shape (", shape_text_, ") behind the header, got ",
                        bytes, " bytes, which are not as many; the file is damaged or cut short");
  }

  template <class T, class Stored>
  [[nodiscard]] xt::xarray<T> elements() {
    require_size(sizeof(Stored));
    typename xt::xarray<T>::shape_type extents(shape_.begin(), shape_.end());
    if (first_axis_fastest_) {
      std::reverse(extents.begin(), extents.end());
    }
    xt::xarray<T> values(extents);
    const bool truth = elements_ == "|b1";
    constexpr std::size_t piece = 4096;
    std::vector<Stored> some(std::min(piece, values.size()));
    for (std::size_t done = 0; done < values.size(); done += some.size()) {
      some.resize(std::min(some.size(), values.size() - done));
      in_.read(reinterpret_cast<char*>(some.data()),
               static_cast<std::streamsize>(some.size() * sizeof(Stored)));
      require<data_error>(in_.good(), path_, ": reading failed");
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto value = number_of(some[i]);
        require_representable<T>(value, done + i);
        values.data()[done + i] = static_cast<T>(truth ? value != 0 : value);
      }
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

  // The text is only made where it is needed.
  template <class T, class Stored>
  void require_representable(Stored value, std::size_t element) const {
    if (!representable<T>(value)) {
      throw data_error(
          text(path_, ": element ", element, ", ", +value, " (", elements_, "), cannot be kept as ",
               std::floating_point<T> ? "a floating-point number" : "an integer", " of ",
               8 * sizeof(T), " bits; name another type to read it as, such as read_npy<",
               std::integral<Stored> ? "std::int64_t" : "double", ">"));
    }
  }

  std::string path_;
  std::istream& in_;
  std::string elements_;  // what NumPy calls them: <f4
  bool first_axis_fastest_ = false;
  std::string shape_text_;  // without the parentheses
  std::vector<std::size_t> shape_;
};

}  // namespace detail

/// Reads a NumPy array of floats, doubles, integers or truth values, as numpy.save writes it, as
/// floats or as another type that is named: `read_npy<double>(path)`.
///
/// Doubles that are read as floats are rounded. Everything else comes exactly as it is stored or
/// not at all: an integer that a float cannot represent, such as 2^24 + 1, a fraction that is to be
/// an integer, or a number outside the range of the type is an error.
///
/// Throws `data_error`, naming the file, for one that cannot be opened, is of another format,
/// damaged or cut short, or has other elements.
template <npy_element T = float>
[[nodiscard]] xt::xarray<T> read_npy(const std::filesystem::path& path) {
  detail::require_no_folder(path);
  std::ifstream in(path, std::ios::binary);
  require<data_error>(in.is_open(), path.string(), ": cannot be opened for reading");
  return detail::npy_reader(in, path.string()).read<T>();
}

}  // namespace glia
