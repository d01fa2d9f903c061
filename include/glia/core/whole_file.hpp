#pragma once

#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>

#include "glia/core/error.hpp"

namespace glia {

/// Writes a file by `write(stream)`, under the name with ".part" added, and renames it when it is
/// whole: an interruption leaves the old file or none, never a half-written one of that name.
///
/// Throws `data_error`, naming the path, where that fails; what `write` throws is passed on.
template <class Write>
void write_whole_file(const std::filesystem::path& path, const Write& write) {
  const std::filesystem::path part = path.string() + ".part";
  std::ofstream out(part, std::ios::binary);
  require<data_error>(out.is_open(), path.string(),
                      ": cannot be written; is there such a folder, and the right to write to it?");
  // Whatever goes wrong, nothing half-written stays; after the rename there is nothing to remove.
  const struct remover {
    const std::filesystem::path& part;
    ~remover() {
      std::error_code ignored;
      std::filesystem::remove(part, ignored);
    }
  } remove_part{part};
  write(static_cast<std::ostream&>(out));
  out.close();
  require<data_error>(out.good(), path.string(), ": writing failed; is the disk full?");
  std::error_code failure;
  std::filesystem::rename(part, path, failure);
  require<data_error>(!failure, path.string(), ": cannot be replaced (", failure.message(), ")");
}

}  // namespace glia
