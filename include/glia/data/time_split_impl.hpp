#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/data/subset.hpp"
#include "glia/data/time_split.hpp"

namespace glia {

namespace detail {

/// Steps of a series: training from `train_first` on, test from `first` to `last`.
struct time_border {
  std::size_t train_first;
  std::size_t first;
  std::size_t last;
};

/// Returns the windows whose targets lie in the steps [first, last) of their series (`test`), and
/// those whose steps all lie in [train_first, first) (`train`). `border_of(count)` returns
/// these steps for a series of `count` steps.
template <class BorderOf>
[[nodiscard]] train_and_test<sliding_windows> parts_by_time(const sliding_windows& windows,
                                                            const BorderOf& border_of) {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> test;
  require_numbered("time_split", windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const window_position p = windows.position(i);
    const auto [train_first, first, last] = border_of(windows.series()[p.series].shape()[0]);
    if (p.first_target >= first && p.end <= last) {
      test.push_back(static_cast<std::uint32_t>(i));
    } else if (p.first_step >= train_first && p.end <= first) {
      train.push_back(static_cast<std::uint32_t>(i));
    }
  }
  require<value_error>(!train.empty() && !test.empty(),
                       "time_split, walk_forward: expected windows to train and to test, got ",
                       train.size(), " and ", test.size(),
                       "; use longer series, shorter windows or fewer folds");
  return {subset<sliding_windows>(windows, std::move(train)),
          subset<sliding_windows>(windows, std::move(test))};
}

}  // namespace detail

GLIA_INLINE train_and_test<sliding_windows> time_split(const sliding_windows& windows,
                                                       const time_split_options& options) {
  require<value_error>(options.test_size > 0 && options.test_size < 1,
                       "time_split: expected a test_size between 0 and 1, got ", options.test_size);
  return detail::parts_by_time(windows, [&](std::size_t steps) {
    const auto tested =
        static_cast<std::size_t>(std::round(options.test_size * static_cast<double>(steps)));
    return detail::time_border{0, steps - tested, steps};
  });
}

GLIA_INLINE std::vector<train_and_test<sliding_windows>> walk_forward(
    const sliding_windows& windows, std::size_t count, const walk_forward_options& options) {
  require<value_error>(count > 0, "walk_forward: expected at least 1 test block, got 0");
  std::vector<train_and_test<sliding_windows>> result;
  for (std::size_t k = 1; k <= count; ++k) {
    result.push_back(detail::parts_by_time(windows, [&](std::size_t steps) {
      const std::size_t first = steps * k / (count + 1);
      const bool is_limited = options.max_train_steps > 0 && options.max_train_steps < first;
      return detail::time_border{is_limited ? first - options.max_train_steps : 0, first,
                                 steps * (k + 1) / (count + 1)};
    }));
  }
  return result;
}

}  // namespace glia
