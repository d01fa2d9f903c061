#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "glia/training/callback.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/interrupt.hpp"
#include "glia/training/progress.hpp"

namespace glia::detail {

/// The callbacks of a call of `fit` in the order of their calls: the progress bar, the callbacks of
/// the options, those that run last, and the interruption by a signal.
class callback_list {
 public:
  /// Lists the callbacks that the process with this rank calls. If the options say so, signals
  /// interrupt the training as long as this object exists.
  callback_list(const fit_options& options, std::size_t rank) {
    if (options.progress != nullptr) {
      add(progress_bar(*options.progress), rank);
    }
    for (const bool runs_last : {false, true}) {
      for (const callback& c : options.callbacks) {
        if (c.runs_last() == runs_last) {
          add(c, rank);
        }
      }
    }
    if (options.stop_at_interrupt) {
      interrupt_.emplace();
      callbacks_.emplace_back([this](const training&) {
        return interrupt_->interrupted() ? interrupt_training(interrupt_->reason())
                                         : keep_training();
      });
    }
  }
  callback_list(const callback_list&) = delete;
  callback_list& operator=(const callback_list&) = delete;

  /// Calls all callbacks. Returns the first result that stops or interrupts the training.
  [[nodiscard]] callback_result call(const training& t) const {
    callback_result first;
    for (const callback& c : callbacks_) {
      callback_result result = c(t);
      if (first.next == callback_result::action::proceed &&
          result.next != callback_result::action::proceed) {
        first = std::move(result);
      }
    }
    return first;
  }

 private:
  void add(callback c, std::size_t rank) {
    if (rank == 0 || !c.first_rank_only()) {
      callbacks_.push_back(std::move(c));
    }
  }

  std::vector<callback> callbacks_;
  std::optional<interrupt_guard> interrupt_;
};

}  // namespace glia::detail
