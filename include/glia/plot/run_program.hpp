#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/platform/child_program.hpp"
#include "glia/core/platform/file.hpp"

namespace glia::plot {

/// The exit status and the output of a program.
struct program_result {
  static constexpr int not_found = platform::program_not_found;
  static constexpr int signaled = platform::program_signaled;  ///< plus a signal's number

  int status = 0;
  std::string output;
  std::string errors;
};

/// Runs a program, waits for its end and returns its status and output. The program is found by
/// PATH unless its name contains a slash. No shell interprets its arguments. `input` is its
/// standard input. The status is `not_found` if the program does not exist or cannot be started.
///
/// Throws `value_error` if `command` is empty, and `data_error` if temporary files cannot be
/// written.
[[nodiscard]] inline program_result run_program(const std::vector<std::string>& command,
                                                std::string_view input = {}) {
  require<value_error>(!command.empty(), "run_program: expected a program and its arguments");
  std::array<platform::file, 3> streams;
  std::error_code failure;
  const auto check = [&] {
    require<data_error>(!failure, "run_program: cannot write a temporary file (", failure.message(),
                        "); check that the disk is not full and that the system's folder for "
                        "temporary files is writable");
  };
  const std::filesystem::path folder = std::filesystem::temp_directory_path(failure);
  check();
  for (platform::file& stream : streams) {
    stream = platform::file::temporary(folder, failure);
    check();
  }
  streams[0].write_at(0, std::as_bytes(std::span(input)), failure);
  check();
  const int status = platform::run_program(command, streams);
  const auto content = [&](const platform::file& stream) {
    std::string text(stream.size(), '\0');
    stream.read_at(0, std::as_writable_bytes(std::span(text)), failure);
    check();
    return text;
  };
  return {.status = status, .output = content(streams[1]), .errors = content(streams[2])};
}

}  // namespace glia::plot
