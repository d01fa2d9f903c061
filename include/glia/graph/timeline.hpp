#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "glia/core/busy_time.hpp"

namespace glia {

class graph;

/// The time of one node of a graph, or of a whole stretch of nodes that run on batch tiles.
struct kernel_time {
  static constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

  const graph* calls = nullptr;  ///< valid as long as the compiled graph exists
  std::size_t node = no_node;    ///< index of the node; no_node for a whole stretch
  std::size_t stretch = 0;       ///< index of the stretch
  std::size_t rows = 0;          ///< number of samples in the batch tile, for a node of a stretch
  std::thread::id thread;
  std::int64_t begin = 0;  ///< in nanoseconds of timeline::now
  std::int64_t end = 0;
};

/// The time of an operation that is not a kernel, with its name.
struct named_time {
  const char* name = "";
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A record of the times of compiled graphs and of the code that runs them. Only one run at a time
/// can use it.
struct timeline {
  /// Times of the nodes in the order of execution. A stretch has one entry.
  std::vector<kernel_time> kernels;
  std::vector<std::vector<kernel_time>> lanes;  ///< nodes that ran in each lane
  std::vector<named_time> activities;           ///< activities other than kernels

  std::vector<detail::busy_time> helpers;  ///< threads that helped in kernels

  /// Returns the current time in nanoseconds.
  [[nodiscard]] static std::int64_t now() { return detail::nanoseconds_now(); }

  /// Removes all times.
  void clear() {
    kernels.clear();
    activities.clear();
    helpers.clear();
    for (std::vector<kernel_time>& lane : lanes) {
      lane.clear();
    }
  }

  /// Measures the time between its construction and its destruction, and adds it to a timeline;
  /// does nothing without a timeline.
  class span {
   public:
    span(timeline* times, const char* name)
        : times_(times), name_(name), begin_(times == nullptr ? 0 : now()) {}
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() {
      if (times_ != nullptr) {
        times_->activities.push_back({name_, begin_, now()});
      }
    }

   private:
    timeline* times_;
    const char* name_;
    std::int64_t begin_;
  };
};

}  // namespace glia
