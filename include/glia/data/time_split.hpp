#pragma once

#include <cstddef>
#include <vector>

#include "glia/data/sliding_windows.hpp"
#include "glia/data/split.hpp"

namespace glia {

/// Options of `time_split`.
struct time_split_options {
  double test_size = 0.2;  ///< Fraction of the steps of each series that are tested, in (0, 1).
};

/// Options of `walk_forward`.
struct walk_forward_options {
  /// Largest number of steps before a test block from which windows are used for training. 0: all
  /// earlier steps.
  std::size_t max_train_steps = 0;
};

/// Splits windows over time series in two: the last steps of each series are tested, and a model is
/// trained on the steps before.
///
/// For a series of n steps, the test begins at step n - round(test_size * n). A window belongs to
/// `test` if all its targets lie in the test steps; its input can begin earlier, since it is known
/// by then. A window belongs to `train` if all its steps lie before the test. All other windows
/// belong to neither, so that no target of `test` is seen in the training.
///
/// The parts are views of `windows`, which must outlive them. Throws `value_error` if `test_size`
/// is not between 0 and 1, or if `train` or `test` would be empty.
[[nodiscard]] train_and_test<sliding_windows> time_split(const sliding_windows& windows,
                                                         const time_split_options& options = {});

/// Returns the parts of a walk-forward validation: `count` blocks of steps are tested one after the
/// other, each by a model that is trained on the steps before the block.
///
///     for (const auto& [train, test] : glia::walk_forward(windows, 5)) { ... }
///
/// A series of n steps is divided into count + 1 blocks, the first of which is only trained on. For
/// k = 1 to `count`, block k has the steps [n k / (count + 1), n (k + 1) / (count + 1)), rounded
/// down. The rules for windows are those of `time_split`. scikit-learn: TimeSeriesSplit.
///
/// The parts are views of `windows`, which must outlive them. Throws `value_error` if `count` is 0
/// or if a part would be empty.
[[nodiscard]] std::vector<train_and_test<sliding_windows>> walk_forward(
    const sliding_windows& windows, std::size_t count, const walk_forward_options& options = {});

/// Does not compile: the parts are views, so the windows must outlive them.
train_and_test<sliding_windows> time_split(const sliding_windows&&,
                                           const time_split_options& = {}) = delete;
std::vector<train_and_test<sliding_windows>> walk_forward(
    const sliding_windows&&, std::size_t, const walk_forward_options& = {}) = delete;

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/data/time_split_impl.hpp"
#endif
