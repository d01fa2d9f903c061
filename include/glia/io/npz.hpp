#pragma once

#include <zip.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/io/npy.hpp"
#include "glia/io/tensor_map.hpp"

namespace glia {

struct npz_options {
  /// An array that declares to be larger is refused before any memory is taken for it.
  std::size_t max_bytes = std::size_t{1} << 32;
};

namespace detail {

[[nodiscard]] inline std::string unpacked(zip_t* archive, zip_uint64_t index, std::uint64_t size,
                                          const std::string& where) {
  const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(zip_fopen_index(archive, index, 0),
                                                               &zip_fclose);
  std::string bytes(size, '\0');
  const bool whole = file != nullptr &&
                     zip_fread(file.get(), bytes.data(), size) == static_cast<zip_int64_t>(size);
  // Reading on to the end is what checks the sum over all bytes.
  char beyond = 0;
  require<data_error>(whole && zip_fread(file.get(), &beyond, 1) == 0, where,
                      ": cannot be unpacked; the file is damaged, cut short or encrypted");
  return bytes;
}

}  // namespace detail

/// Reads all arrays of a file of numpy.savez or numpy.savez_compressed, floats or doubles, as
/// floats, by their names. Needs libzip: link `glia::npz`.
///
/// Throws `data_error`, naming file and array, for what cannot be opened, is of another format,
/// damaged, cut short or larger than allowed.
[[nodiscard]] inline tensor_map read_npz(const std::filesystem::path& path,
                                         const npz_options& options = {}) {
  int failure = 0;
  const std::unique_ptr<zip_t, void (*)(zip_t*)> archive(
      zip_open(path.c_str(), ZIP_RDONLY, &failure), &zip_discard);
  require<data_error>(archive != nullptr, path.string(),
                      failure == ZIP_ER_NOENT
                          ? ": cannot be opened for reading"
                          : ": expected a file of numpy.savez, which is a zip archive; it is of "
                            "another format or cut short");
  tensor_map arrays;
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (zip_uint64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    const bool known = zip_stat_index(archive.get(), i, 0, &entry) == 0 &&
                       (entry.valid & ZIP_STAT_NAME) != 0 && (entry.valid & ZIP_STAT_SIZE) != 0;
    require<data_error>(known, path.string(), ": entry ", i, " has no name or size");
    std::string name = entry.name;
    const std::string where = path.string() + ": " + name;
    require<data_error>(name.ends_with(".npy"), where,
                        ": expected arrays only, whose names end in .npy");
    require<data_error>(entry.size <= options.max_bytes, where, ": declares ", entry.size,
                        " bytes, more than the ", options.max_bytes,
                        " that are allowed; raise max_bytes if the file is to be trusted");
    std::istringstream in(detail::unpacked(archive.get(), i, entry.size, where));
    name.resize(name.size() - std::string_view(".npy").size());
    arrays.emplace(std::move(name), detail::npy_reader(in, where).read());
  }
  return arrays;
}

}  // namespace glia
