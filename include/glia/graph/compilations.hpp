#pragma once

#include <cstddef>

namespace glia {

/// The number and time of a device's compilations of graphs.
struct compilations {
  std::size_t compiled = 0;  ///< number of graphs compiled in this run
  std::size_t loaded = 0;    ///< number of graphs compiled in an earlier run and loaded from disk
  double seconds = 0;        ///< time of both, in seconds

  [[nodiscard]] std::size_t programs() const noexcept { return compiled + loaded; }

  /// Returns the compilations since `then`.
  [[nodiscard]] friend compilations operator-(const compilations& now, const compilations& then) {
    return {now.compiled - then.compiled, now.loaded - then.loaded, now.seconds - then.seconds};
  }
  friend bool operator==(const compilations&, const compilations&) = default;
};

}  // namespace glia
