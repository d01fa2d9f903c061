#pragma once

#include <cstddef>

namespace glia {

/// The number of graphs that a device compiled or loaded, and the time for this.
struct compilations {
  std::size_t compiled = 0;  ///< number of graphs compiled in this run
  std::size_t loaded = 0;    ///< number of graphs compiled in an earlier run and loaded from disk
  double seconds = 0;        ///< time for compiling and loading, in seconds

  [[nodiscard]] std::size_t programs() const noexcept { return compiled + loaded; }

  /// Returns the compilations since `previous`.
  [[nodiscard]] friend compilations operator-(const compilations& current,
                                              const compilations& previous) {
    return {current.compiled - previous.compiled, current.loaded - previous.loaded,
            current.seconds - previous.seconds};
  }
  friend bool operator==(const compilations&, const compilations&) = default;
};

}  // namespace glia
