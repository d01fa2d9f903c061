#pragma once

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <ostream>

#include "glia/core/platform/terminal.hpp"

namespace glia {

/// Whether a stream writes to a terminal.
[[nodiscard]] inline bool is_terminal(const std::ostream& out) {
  using platform::standard_stream;
  return (&out == &std::cout && platform::is_terminal(standard_stream::output)) ||
         (&out == &std::cerr && platform::is_terminal(standard_stream::errors));
}

namespace detail {

/// The current width of the terminal behind a stream, in columns. 80 if it is not known.
[[nodiscard]] inline std::size_t terminal_columns(const std::ostream& out) {
  using platform::standard_stream;
  const std::size_t columns =
      is_terminal(out) ? platform::terminal_columns(&out == &std::cerr ? standard_stream::errors
                                                                       : standard_stream::output)
                       : 0;
  return columns == 0 ? 80 : std::max<std::size_t>(columns, 2);
}

}  // namespace detail

}  // namespace glia
