#pragma once

#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/platform/terminal.hpp>
#include <iostream>
#include <string>
#include <system_error>

/// What main returns: the result of `run(argc, argv)`, or 1 where it throws or what it prints
/// cannot be written. The reason goes to the standard error.
template <class Run>
int run_program(const std::string& name, int argc, char** argv, const Run& run) {
  try {
    // The next file that is opened would else be taken for the standard output, and written over.
    glia::require<glia::data_error>(
        glia::platform::is_open(glia::platform::standard_stream::output),
        "the standard output is closed");
    const int status = run(argc, argv);
    // A process that is not to print has no buffer there.
    glia::require<glia::data_error>(
        std::cout.rdbuf() == nullptr || std::cout.flush().good(),
        "the standard output cannot be written; check that the disk is not full");
    return status;
  } catch (const std::exception& e) {
    std::cerr << name << ": " << e.what() << '\n';
    return 1;
  }
}

/// Throws `data_error` where no file can be written at this path, if there is one, so that it is
/// known before the work and not after it. A file that is there stays as it is.
inline void require_writable(const std::filesystem::path& path) {
  if (path.empty()) {
    return;
  }
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(path, ignored);
  const bool writable =
      !std::filesystem::is_directory(path, ignored) && std::ofstream(path, std::ios::app).is_open();
  if (is_new && writable) {
    std::filesystem::remove(path, ignored);
  }
  glia::require<glia::data_error>(writable, path.string(), ": cannot be written");
}

/// A check for options that are floats above 0.
[[nodiscard]] inline std::string positive_float(const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  const bool good = end != text.c_str() && *end == '\0' && value > 0 && value < HUGE_VALF;
  return good ? std::string() : "expected a number above 0 that fits a float, got " + text;
}
