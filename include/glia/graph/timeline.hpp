#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "glia/core/busy_time.hpp"
#include "glia/graph/graph.hpp"

namespace glia {

/// A kernel of a graph that ran, or a whole stretch of them.
struct kernel_time {
  static constexpr std::size_t no_node = std::numeric_limits<std::size_t>::max();

  const graph* calls = nullptr;  ///< good while the program is
  std::size_t node = no_node;    ///< none: the stretch
  std::size_t stretch = 0;
  std::size_t rows = 0;  ///< samples, where it is a part of a stretch
  std::thread::id thread;
  std::int64_t begin = 0;  ///< nanoseconds of timeline::now
  std::int64_t end = 0;
};

/// Something else that took time, by its name.
struct named_time {
  const char* name = "";
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// What programs, and those who run them, write down of when they did what, if they are given one.
/// For one run at a time.
struct timeline {
  std::vector<kernel_time> kernels;             ///< one after the other; a stretch is one of them
  std::vector<std::vector<kernel_time>> lanes;  ///< what ran in each lane of stretches
  std::vector<named_time> others;

  std::vector<busy_time> helpers;  ///< threads that took part in kernels

  [[nodiscard]] static std::int64_t now() { return nanoseconds_now(); }

  void clear() {
    kernels.clear();
    others.clear();
    helpers.clear();
    for (std::vector<kernel_time>& lane : lanes) {
      lane.clear();
    }
  }

  /// Writes down how long something takes, to the end of a block; nothing without a timeline.
  class span {
   public:
    span(timeline* to, const char* name)
        : to_(to), name_(name), begin_(to == nullptr ? 0 : now()) {}
    span(const span&) = delete;
    span& operator=(const span&) = delete;
    ~span() {
      if (to_ != nullptr) {
        to_->others.push_back({name_, begin_, now()});
      }
    }

   private:
    timeline* to_;
    const char* name_;
    std::int64_t begin_;
  };
};

}  // namespace glia
