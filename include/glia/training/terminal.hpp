#pragma once

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <ostream>

#if __has_include(<unistd.h>) && __has_include(<sys/ioctl.h>)
#include <sys/ioctl.h>
#include <unistd.h>
#define GLIA_HAS_TERMINAL
#endif

namespace glia {

/// Whether a stream writes to a terminal.
[[nodiscard]] inline bool is_terminal(const std::ostream& out) {
#if defined(GLIA_HAS_TERMINAL)
  return (&out == &std::cout && isatty(STDOUT_FILENO) != 0) ||
         (&out == &std::cerr && isatty(STDERR_FILENO) != 0);
#else
  static_cast<void>(out);
  return false;
#endif
}

namespace detail {

/// The current width of the terminal behind a stream, in columns. 80 if it is not known.
[[nodiscard]] inline std::size_t terminal_columns(const std::ostream& out) {
#if defined(GLIA_HAS_TERMINAL)
  winsize size{};
  const int file = &out == &std::cerr ? STDERR_FILENO : STDOUT_FILENO;
  if (is_terminal(out) && ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    return std::max<std::size_t>(size.ws_col, 2);
  }
#else
  static_cast<void>(out);
#endif
  return 80;
}

}  // namespace detail

}  // namespace glia

#undef GLIA_HAS_TERMINAL
