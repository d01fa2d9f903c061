#pragma once

#include <cstddef>

namespace glia {

/// What a backend spent on compiling programs.
struct compilations {
  std::size_t compiled = 0;  ///< programs
  std::size_t loaded = 0;    ///< that were compiled in an earlier run, and kept
  double seconds = 0;        ///< that both took

  [[nodiscard]] std::size_t programs() const noexcept { return compiled + loaded; }

  /// What came since then.
  [[nodiscard]] friend compilations operator-(const compilations& now, const compilations& then) {
    return {now.compiled - then.compiled, now.loaded - then.loaded, now.seconds - then.seconds};
  }
  friend bool operator==(const compilations&, const compilations&) = default;
};

}  // namespace glia
