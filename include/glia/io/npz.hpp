#pragma once

#include <zip.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/representable.hpp"
#include "glia/io/npy.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

/// Options of `read_npz`.
struct npz_options {
  /// The largest total size of the unpacked arrays, in bytes; 4 GiB by default. For a larger total,
  /// `read_npz` throws before it allocates memory.
  std::uint64_t max_bytes = std::uint64_t{1} << 32;
};

namespace detail {

/// An array of an archive.
struct npz_entry {
  zip_uint64_t index = 0;
  std::string name;
  std::uint64_t size = 0;  // unpacked size in bytes, as the archive declares it
};

/// Returns the entries of an archive. All of them are checked before anything is unpacked.
[[nodiscard]] inline std::vector<npz_entry> npz_entries(zip_t* archive, const std::string& path,
                                                        const npz_options& options) {
  std::vector<npz_entry> entries;
  std::set<std::string> names;
  std::uint64_t total = 0;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive, 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    const bool known = zip_stat_index(archive, i, 0, &entry) == 0 &&
                       (entry.valid & ZIP_STAT_NAME) != 0 && (entry.valid & ZIP_STAT_SIZE) != 0;
    require<data_error>(known, path, ": entry ", i, " of the archive has no name or no size");
    const std::string location = path + ": " + entry.name;
    require<data_error>(location.ends_with(".npy"), location,
                        ": expected only arrays, whose names end in .npy");
    require<data_error>(names.insert(entry.name).second, location,
                        ": two arrays have this name; the file is damaged");
    require<data_error>(entry.size <= options.max_bytes - total, location, ": the array declares ",
                        entry.size, " bytes, ", total == 0 ? "" : "with the arrays before it ",
                        "more than the ", options.max_bytes,
                        " that are allowed; if you trust the file, raise npz_options::max_bytes");
    total += entry.size;
    entries.push_back({i, entry.name, entry.size});
  }
  return entries;
}

/// Opens an archive. Returns null if the file is not one. Throws `data_error` if it cannot be read.
[[nodiscard]] inline zip_t* open_archive(const file_source& file) {
  if (!file.is_memory()) {
    require_no_folder(file.path());
    require<data_error>(std::ifstream(file.path(), std::ios::binary).is_open(), file.name(),
                        ": the file cannot be opened for reading");
    return zip_open(file.path().string().c_str(), ZIP_RDONLY, nullptr);
  }
  zip_source_t* const source =
      zip_source_buffer_create(file.bytes().data(), file.bytes().size(), 0, nullptr);
  zip_t* const archive =
      source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, nullptr);
  if (archive == nullptr && source != nullptr) {
    zip_source_free(source);
  }
  return archive;
}

[[nodiscard]] inline std::string unpacked(zip_t* archive, const npz_entry& entry,
                                          const std::string& location) {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
      zip_fopen_index(archive, entry.index, 0), &zip_fclose);
  std::string bytes;
  if (file != nullptr) {
    bytes = within_memory(location, [&] {
      return read_announced<std::string>(entry.size, [&](char* destination, std::size_t size) {
        return std::max<zip_int64_t>(0, zip_fread(file.get(), destination, size));
      });
    });
  }
  // libzip compares the checksum when the end of the entry is read.
  char beyond = 0;
  require<data_error>(
      file != nullptr && bytes.size() == entry.size && zip_fread(file.get(), &beyond, 1) == 0,
      location, ": the array cannot be unpacked; the file is damaged, truncated or encrypted");
  return bytes;
}

}  // namespace detail

/// Reads all arrays of a NumPy archive (`.npz`), as `numpy.savez` and `numpy.savez_compressed`
/// write it. Returns a map from their names to the arrays.
///
/// The elements are converted to float, or to the type that you name, as in
/// `read_npz<double>(path)`, by the rules of `read_npy`. An array that cannot be converted is not
/// in the map; `at` with its name throws an error with the reason. Needs the library libzip: link
/// `glia::npz`.
///
/// Throws `data_error` if the file cannot be opened, has another format, or is damaged, truncated
/// or larger than allowed. The message names the file and the array.
template <npy_element T = float>
[[nodiscard]] basic_tensor_map<T> read_npz(const file_source& file,
                                           const npz_options& options = {}) {
  const std::unique_ptr<zip_t, void (*)(zip_t*)> archive(detail::open_archive(file), &zip_discard);
  require<data_error>(archive != nullptr, file.name(),
                      ": expected a file written by numpy.savez, which is a zip archive; the file "
                      "is in another format or truncated");
  basic_tensor_map<T> arrays;
  for (detail::npz_entry& entry : detail::npz_entries(archive.get(), file.name(), options)) {
    const std::string location = file.name() + ": " + entry.name;
    std::istringstream stream(detail::unpacked(archive.get(), entry, location));
    entry.name.resize(entry.name.size() - std::string_view(".npy").size());
    try {
      arrays.emplace(entry.name, detail::npy_reader(stream, location).template read<T>());
    } catch (const detail::unreadable_elements& e) {
      arrays.add_unreadable(entry.name, e.what());
    }
  }
  return arrays;
}

}  // namespace glia
