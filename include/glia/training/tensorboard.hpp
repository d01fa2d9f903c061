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
#include "glia/training/observer.hpp"

namespace glia {

/// What is written for TensorBoard, and how often.
struct tensorboard_options {
  std::size_t loss_every_steps = 0;  ///< running_loss, the epoch's mean so far; 0: not by steps
  std::size_t histogram_every_epochs = 1;  ///< of the parameters that are trained; 0: none
  std::size_t histogram_buckets = 30;      ///< at least 1
};

/// An observer that writes what TensorBoard shows: loss, metrics, the same of the validation
/// (validation_loss), learning_rate and samples_per_second of each epoch, and a histogram of each
/// parameter that is trained (parameters/dense_0.kernel).
///
///     trainer.fit(train, test, {.epochs = 20, .observers = {glia::tensorboard{"logs/run1"}}});
///     tensorboard --logdir logs
///
/// All stands at the number of steps taken, and not of the epoch: a training that is gone on with
/// writes a new file to the same folder, and TensorBoard forgets what files before it say of steps
/// that are taken again. So it does with a training that begins anew in the folder of another one.
/// An epoch that was interrupted is written when it is over.
///
/// Numbers that are not finite are shown as such in scalars. Histograms leave them out, and
/// not_finite/dense_0.kernel counts them where there are any.
///
/// Throws `data_error` as `event_file` does, before the first step where the folder cannot be
/// written to, and `value_error` for histograms without buckets.
class tensorboard {
 public:
  static constexpr bool first_rank_only = true;

  explicit tensorboard(std::filesystem::path folder, const tensorboard_options& options = {})
      : folder_(std::move(folder)), options_(options) {
    require<value_error>(options.histogram_buckets > 0,
                         "tensorboard: expected histograms of at least 1 bucket");
  }

  void operator()(const training& t) {
    switch (t.at) {
      case moment::begins:
        file_ = std::make_shared<event_file>(folder_);
        begun_ = false;
        break;
      case moment::epoch_begins:
        // Not before: another observer may restore the training after this one was told.
        if (!std::exchange(begun_, true)) {
          file_->begin_at(t.step + 1);
        }
        break;
      case moment::step:
        if (options_.loss_every_steps > 0 && t.step % options_.loss_every_steps == 0) {
          event_summary summary;
          summary.add("running_loss", t.loss());
          file_->add(t.step, summary);
        }
        break;
      case moment::epoch:
        write_epoch(t);
        break;
      case moment::ends:
        file_.reset();
        break;
      default:
        break;
    }
  }

 private:
  void write_epoch(const training& t) const {
    const epoch_record& e = t.result.epochs.back();
    event_summary summary;
    const auto add = [&](const std::string& prefix, const scores& s) {
      summary.add(prefix + "loss", s.loss);
      for (std::size_t i = 0; i < t.result.metrics.size(); ++i) {
        summary.add(prefix + t.result.metrics[i].name, s.metrics[i]);
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

  void add_parameters(const training& t, event_summary& summary) const {
    const std::vector<named_tensor> all = t.parameters();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!t.plan.parameters[i].trainable) {
        continue;
      }
      std::visit(
          [&](const auto& values) {
            const value_histogram h = histogram_of(values, options_.histogram_buckets);
            const double lost = static_cast<double>(values.size()) - h.count;
            if (h.count > 0) {
              summary.add("parameters/" + all[i].name, h);
            }
            if (lost > 0) {
              summary.add("not_finite/" + all[i].name, lost);
            }
          },
          all[i].values);
    }
  }

  std::filesystem::path folder_;
  tensorboard_options options_;
  std::shared_ptr<event_file> file_;  // while a training runs
  bool begun_ = false;                // whether its first epoch has
};

}  // namespace glia
