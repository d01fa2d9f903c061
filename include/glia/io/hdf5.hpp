#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "glia/io/hdf5_calls.hpp"
#include "glia/io/hdf5_reader.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// Options of `read_hdf5`.
struct hdf5_options {
  /// The largest total size of the data sets after conversion to floats, in bytes; 4 GiB by
  /// default. For a larger total, `read_hdf5` throws before it allocates memory.
  std::uint64_t max_bytes = std::uint64_t{1} << 32;
};

/// Reads all numeric data sets of an HDF5 file as floats. In the result, a data set has its full
/// name without the leading slash, such as `layers/dense/vars/0`.
///
/// Needs the HDF5 library, 1.10.7 or newer: link `glia::hdf5`. For weights of Keras models, use
/// `read_keras_weights`.
///
/// **Types.** Integers, floating-point numbers and enumerations (such as the booleans of h5py) of
/// any width and byte order are read, and bfloat16 as Keras 3 stores it. Floating-point numbers are
/// rounded to the nearest float. Data sets of texts, compounds and other types are skipped. Data
/// can be compressed with any filter that the library has.
///
/// **Data sets that cannot be converted.** A data set that cannot be converted is not in the map;
/// `at` with its name throws an error with the reason. Possible reasons are a number that a float
/// cannot hold, such as 2^24 + 1 or 1e300, more axes than a `shape` supports, a filter that the
/// library does not have, or elements that are stored in other files.
///
/// **Links.** No other file is opened. External links and soft links are skipped. A data set with
/// several names (hard links) is read under each name. A group with several names is read under the
/// name with the fewest parent groups; of several such names, under the first in alphabetical
/// order.
///
/// **Threads.** Calls from several threads run one after the other, because most builds of the
/// library are not thread-safe. If your program also calls the library directly, it must prevent
/// simultaneous calls itself. During a call, the library prints no errors; they become part of the
/// exception's message. Afterwards, the program's own settings for printing errors are restored.
///
/// **Security.** Read only files that you trust. The library parses a file before glia can check
/// it. A file can be made to crash the library: 5 of 100,000 files with random damage crashed
/// release 1.10.8. A file can also be made to unpack to much more memory than its elements need.
///
/// Throws `data_error` if the file cannot be opened, has another format, or is damaged, truncated
/// or larger than allowed. The message names the file and the data set.
[[nodiscard]] inline tensor_map read_hdf5(const std::filesystem::path& path,
                                          const hdf5_options& options = {}) {
  const detail::hdf5_session session;
  return detail::hdf5_reader(path).read(
      options.max_bytes, [](const std::string& name) { return std::optional(name); });
}

}  // namespace glia
