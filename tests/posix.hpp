#pragma once

// Child processes and what else only POSIX has; tests that need it skip elsewhere.
#if __has_include(<sys/wait.h>)
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#define GLIA_TEST_HAS_POSIX 1
#else
#define GLIA_TEST_HAS_POSIX 0
#endif

#include <filesystem>

namespace test {

/// Whether /proc/self/fd has this program's open files. Wine shows Linux's folder to programs for
/// Windows, but not what belongs to them.
[[nodiscard]] inline bool lists_open_files() {
  return GLIA_TEST_HAS_POSIX != 0 && std::filesystem::exists("/proc/self/fd");
}

}  // namespace test
