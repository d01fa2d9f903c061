#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "glia/io/hdf5_calls.hpp"
#include "glia/io/hdf5_reader.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// How much `read_hdf5` takes.
struct hdf5_options {
  /// Data sets that together declare to be larger, as floats, are refused before any memory is
  /// taken for them.
  std::size_t max_bytes = std::size_t{1} << 32;
};

/// Reads all data sets of numbers of an HDF5 file as floats, by their full names without the first
/// slash: `layers/dense/vars/0`. Needs the HDF5 library, 1.10.7 or newer: link `glia::hdf5`. For
/// files of Keras there is `read_keras_weights`, too.
///
/// Numbers are integers, floats and enumerations (such as the truth values of h5py) of any width
/// and byte order, and bfloat16 as Keras 3 stores it. Floats are rounded to the nearest one. A data
/// set with a number that a float cannot hold, such as 2^24 + 1 or 1e300, is an error where it is
/// asked for. They may be compressed by any filter that the library has. Data sets of texts,
/// compounds and other kinds are left out.
///
/// No other file is opened. External links are left out, and so are soft links, which may lead
/// through them; a data set whose elements lie in other files is an error where it is asked for,
/// and so is one of more axes than a shape has, or one that is packed with a filter that the
/// library does not have. A data set with several names (hard links) is read under each; a group
/// with several under the one that the fewest groups lead to, of these the first in the order of
/// letters.
///
/// Calls from several threads are made one after the other, as most builds of the library are not
/// made for more. Only a program that calls the library itself meanwhile must see to that. Errors
/// that the library would print are in what is thrown; what the program has set for printing them
/// is as before afterwards.
///
/// Throws `data_error`, naming file and data set, for a file that cannot be opened, is of another
/// format, damaged or cut short, and for more bytes than allowed. Read only files that you trust,
/// nevertheless: the library makes what it can of a file before glia sees it, and one may be made
/// to crash it (of 100,000 with random damage, 5 crashed its release 1.10.8), or to unpack to far
/// more than its elements take.
[[nodiscard]] inline tensor_map read_hdf5(const std::filesystem::path& path,
                                          const hdf5_options& options = {}) {
  const detail::hdf5_session session;
  return detail::hdf5_reader(path).read(
      options.max_bytes, [](const std::string& name) { return std::optional(name); });
}

}  // namespace glia
