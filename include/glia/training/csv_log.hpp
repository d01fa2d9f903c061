#pragma once

#include <filesystem>

#include "glia/training/history_csv.hpp"
#include "glia/training/observer.hpp"

namespace glia {

/// An observer that writes the history as comma-separated values after each epoch; see
/// write_history_csv. The file is whole at any time.
struct csv_log {
  static constexpr bool first_rank_only = true;

  std::filesystem::path path;

  void operator()(const training& t) const {
    // At the beginning to see whether it can be written; not over what is to be gone on with.
    if ((t.at == moment::begins && !t.resume) || t.at == moment::epoch || t.at == moment::ends) {
      write_history_csv(path, t.result);
    }
  }
};

}  // namespace glia
