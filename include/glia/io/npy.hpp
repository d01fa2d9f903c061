#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"

#if __has_include(<xtensor/io/xnpy.hpp>)
#include <xtensor/io/xnpy.hpp>
#else
#include <xtensor/xnpy.hpp>
#endif

namespace glia {

namespace detail {

// xtensor reads NumPy's files, but trusts them: what a file cut short does not hold comes from
// memory that nobody has written, and a header of another form from outside it. What it trusts is
// checked here, before it takes any memory.
class npy_reader {
 public:
  /// `where` names the array in errors.
  npy_reader(std::istream& in, std::string where) : path_(std::move(where)), in_(in) {}

  [[nodiscard]] xt::xarray<float> read() {
    read_header();
    require<data_error>(elements_ == "<f4" || elements_ == "<f8", path_,
                        ": expected float or double elements (<f4 or <f8), got ", elements_,
                        "; convert it before");
    require_size(elements_ == "<f4" ? sizeof(float) : sizeof(double));
    in_.seekg(0);
    try {
      return elements_ == "<f4" ? xt::xarray<float>(xt::load_npy<float>(in_))
                                : xt::xarray<float>(xt::cast<float>(xt::load_npy<double>(in_)));
    } catch (const std::exception& e) {
      throw data_error(text(path_, ": reading failed (", e.what(), ")"));
    }
  }

 private:
  static constexpr std::size_t preamble = 10;  // bytes: the magic, the version, the header's length
  // xtensor takes the length's bytes for signed; NumPy's headers have 118 up to some 15 axes.
  static constexpr std::size_t max_header = 127;

  /// Finds out elements and shape, and leaves the file where the elements begin.
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
    const std::regex form(
        R"(\{ *'descr': *'([^']*)', *'fortran_order': *(?:True|False), *'shape': *)"
        R"(\(((?:|[0-9]{1,18},|[0-9]{1,18}(?:, *[0-9]{1,18})+,?))\),? *\} *\n)");
    std::smatch parts;
    require<data_error>(std::regex_match(header, parts, form), path_,
                        ": expected a header as numpy.save writes it, with descr, fortran_order "
                        "and shape, got ",
                        header.substr(0, header.find_last_not_of(" \n") + 1));
    elements_ = parts[1];
    shape_text_ = parts[2];
    std::istringstream extents(shape_text_);
    char comma = ',';
    for (std::uint64_t extent = 0; extents >> extent; extents >> comma) {
      shape_.push_back(extent);
    }
  }

  /// Throws unless the rest of the file is as many elements as the shape says. The product of the
  /// extents is compared by division, as a product could overflow.
  void require_size(std::size_t element) {
    const std::streamoff first = in_.tellg();
    in_.seekg(0, std::ios::end);
    const auto bytes = static_cast<std::uint64_t>(in_.tellg() - first);
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

  std::string path_;
  std::istream& in_;
  std::string elements_;    // what NumPy calls them: <f4
  std::string shape_text_;  // without the parentheses
  std::vector<std::uint64_t> shape_;
};

}  // namespace detail

/// Reads a NumPy array of floats or doubles, as numpy.save writes it, as floats.
///
/// Throws `data_error`, naming the file, for one that cannot be opened, is of another format,
/// damaged or cut short, or has other elements.
[[nodiscard]] inline xt::xarray<float> read_npy(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  require<data_error>(in.is_open(), path.string(), ": cannot be opened for reading");
  return detail::npy_reader(in, path.string()).read();
}

}  // namespace glia
