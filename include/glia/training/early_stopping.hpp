#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/training/observer.hpp"
#include "glia/training/watched_score.hpp"

namespace glia {

/// An observer that stops a training once a score has not got better for some epochs, and gives the
/// model the parameters of the best epoch, whether it stopped the training or not; an interrupted
/// training keeps its own, since it is to be gone on with. Prechelt, Neural Networks: Tricks of the
/// Trade, 1998.
///
///     const glia::early_stopping enough{.patience = 5};
///     trainer.fit(train, test, {.epochs = 100, .observers = {enough}});
struct early_stopping {
  std::string score = "validation_loss";  ///< or "loss" of the training, "validation_accuracy", ...
  std::size_t patience = 5;               ///< epochs without a better score, at least 1
  double least_change = 0;   ///< by how much a score must be better than the best one to count
  bool restore_best = true;  ///< costs a copy of the parameters, which is a part of checkpoints

  verdict operator()(const training& t) const {
    switch (t.at) {
      case moment::begins:
        require<value_error>(patience > 0 && least_change >= 0 && std::isfinite(least_change),
                             "early_stopping: expected a patience of at least 1 epoch and a finite "
                             "least change of at least 0, got ",
                             patience, " and ", least_change);
        (void)smaller_is_better(t.result.metrics, score);
        break;
      case moment::epoch:
        if (restore_best && best(t).epoch == t.epoch) {
          keep(t);
        }
        return opinion(t);
      case moment::epoch_begins:
        return opinion(t);  // of a training that had stopped and is to be gone on with
      case moment::ends:
        if (restore_best && !t.result.interrupted) {
          give_back(t);
        }
        // Of a training that had stopped and has no epoch left.
        return t.result.stopped.empty() ? opinion(t) : go_on();
      default:
        break;
    }
    return go_on();
  }

 private:
  [[nodiscard]] best_epoch best(const training& t) const {
    return best_of(t.result, score, least_change);
  }
  [[nodiscard]] verdict opinion(const training& t) const {
    const best_epoch b = best(t);
    if (b.since < patience) {
      return go_on();
    }
    const std::string since = text(b.since, b.since == 1 ? " epoch" : " epochs");
    return stop(b.epoch == 0 ? text(score, " was no finite number for ", since)
                             : text("no better ", score, " than ", b.score, " of epoch ", b.epoch,
                                    " for ", since));
  }

  [[nodiscard]] std::string prefix() const { return "early_stopping(" + score + ")/"; }
  void keep(const training& t) const {
    std::erase_if(t.kept(), [&](const named_tensor& k) { return k.name.starts_with(prefix()); });
    for (named_tensor& p : t.parameters()) {
      p.name = prefix() + p.name;
      t.kept().push_back(std::move(p));
    }
  }
  void give_back(const training& t) const {
    std::vector<named_tensor> values;
    for (const named_tensor& k : t.kept()) {
      if (k.name.starts_with(prefix())) {
        values.push_back({k.name.substr(prefix().size()), k.shape, k.values});
      }
    }
    if (!values.empty()) {
      t.set_parameters(values);
    }
  }
};

}  // namespace glia
