#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/io/event_file.hpp"
#include "glia/training/callback.hpp"

namespace glia {

/// The options of `tensorboard`: the values that it writes, and how often it writes them.
struct tensorboard_options {
  /// Number of steps between two values of running_loss, the epoch's mean loss so far; 0: none.
  std::size_t loss_every_steps = 0;
  /// Number of epochs between two histograms of the trained parameters; 0: none.
  std::size_t histogram_every_epochs = 1;
  std::size_t histogram_buckets = 30;  ///< Number of buckets in each histogram, at least 1.
};

/// A callback that writes the progress of the training to a folder for TensorBoard.
///
///     trainer.fit(train, test, {.epochs = 20, .callbacks = {glia::tensorboard{"logs/run1"}}});
///
/// Show it with `tensorboard --logdir logs`. After each epoch it writes these values:
///
/// - loss and metrics of the training;
/// - loss and metrics of the validation, such as validation_loss;
/// - learning_rate and samples_per_second;
/// - a histogram of each trained parameter, such as parameters/dense_0.kernel.
///
/// The horizontal axis is the number of training steps; Keras's `TensorBoard` has epochs there.
///
/// A resumed training writes a new file to the same folder. If steps are repeated, TensorBoard then
/// ignores their older values. The same happens if a new training uses the folder of another
/// training. An interrupted epoch is written when it is complete.
///
/// Infinite and NaN scalars are written unchanged. Histograms do not include infinite and NaN
/// numbers. If a parameter has such numbers, a value such as not_finite/dense_0.kernel counts them.
///
/// The constructor throws `value_error` if `histogram_buckets` is 0. `fit` throws `data_error`,
/// before the first step, if the folder cannot be written to.
class tensorboard {
 public:
  static constexpr bool first_rank_only = true;

  explicit tensorboard(std::filesystem::path folder, const tensorboard_options& options = {})
      : folder_(std::move(folder)), options_(options) {
    require<value_error>(options.histogram_buckets > 0,
                         "tensorboard: expected histogram_buckets of at least 1");
  }

  void operator()(const training& t) {
    switch (t.event) {
      case event::train_begin:
        file_ = std::make_shared<detail::event_file>(folder_);
        begun_ = false;
        break;
      case event::epoch_begin:
        // Not at train_begin, because a later callback can restore the training there.
        if (!std::exchange(begun_, true)) {
          file_->begin_at(t.step + 1);
        }
        break;
      case event::train_batch_end:
        if (options_.loss_every_steps > 0 && t.step % options_.loss_every_steps == 0) {
          detail::event_summary summary;
          summary.add("running_loss", t.loss());
          file_->add(t.step, summary);
        }
        break;
      case event::epoch_end:
        write_epoch(t);
        break;
      case event::train_end:
        file_.reset();
        break;
      default:
        break;
    }
  }

 private:
  void write_epoch(const training& t) const {
    const epoch_record& e = t.history.epochs.back();
    detail::event_summary summary;
    const auto add = [&](const std::string& prefix, const scores& s) {
      summary.add(prefix + "loss", s.loss);
      for (std::size_t i = 0; i < t.history.metrics.size(); ++i) {
        summary.add(prefix + t.history.metrics[i].name, s.metric_values[i]);
      }
    };
    add("", e.training);
    if (e.validation) {
      add("validation_", *e.validation);
    }
    summary.add("learning_rate", e.learning_rate);
    summary.add("samples_per_second", e.samples_per_second);
    if (options_.histogram_every_epochs > 0 && t.epoch % options_.histogram_every_epochs == 0) {
      add_parameters(t, summary);
    }
    file_->add(t.step, summary);
  }

  void add_parameters(const training& t, detail::event_summary& summary) const {
    const std::vector<named_tensor> parameters = t.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!t.plan.parameters[i].trainable) {
        continue;
      }
      std::visit(
          [&](const auto& values) {
            const detail::value_histogram h =
                detail::histogram_of(values, options_.histogram_buckets);
            const double lost = static_cast<double>(values.size()) - h.count;
            if (h.count > 0) {
              summary.add("parameters/" + parameters[i].name, h);
            }
            if (lost > 0) {
              summary.add("not_finite/" + parameters[i].name, lost);
            }
          },
          parameters[i].values);
    }
  }

  std::filesystem::path folder_;
  tensorboard_options options_;
  std::shared_ptr<detail::event_file> file_;  // while a training runs
  bool begun_ = false;                        // whether the first epoch has begun
};

}  // namespace glia
