#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "glia/core/inline.hpp"
#include "glia/data/dataset_view.hpp"
#include "glia/training/callback.hpp"
#include "glia/training/callback_list.hpp"
#include "glia/training/device_state.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/running_scores.hpp"
#include "glia/training/training_job.hpp"
#include "glia/training/training_step.hpp"

namespace glia {

namespace detail {
class epoch_steps;
}  // namespace detail

/// The loop over the epochs of a call of `fit`. Callbacks see it as a `training`.
class training_loop final : public training {
 public:
  /// Writes the results to `results`.
  training_loop(const training_job& job, device_state& state, training_step& steps,
                const fit_options& options, glia::history& results);
  training_loop(const training_loop&) = delete;
  training_loop& operator=(const training_loop&) = delete;
  ~training_loop();

  /// Trains. `validation` can be null.
  void run(const dataset_view& train, const dataset_view* validation);

  [[nodiscard]] double loss() const override { return sums_->loss(); }
  [[nodiscard]] double step_loss() const override { return sums_->last_loss(); }
  [[nodiscard]] GLIA_INLINE double learning_rate() const override;
  [[nodiscard]] training_state state() const override { return state_.read(job_.net); }
  GLIA_INLINE void restore(const training_state& saved) const override;
  [[nodiscard]] std::vector<named_tensor> parameters() const override {
    return detail::read_parameters(job_.net);
  }
  void set_parameters(std::span<const named_tensor> values) const override {
    detail::write_parameters(job_.net, values);
  }
  GLIA_INLINE void scale_learning_rate(double factor) const override;
  [[nodiscard]] GLIA_INLINE std::string trace_not_finite(
      const training_state& earlier) const override;
  [[nodiscard]] training_memory memory() const override {
    training_memory result = state_.memory(job_.net);
    step_.runner().add_memory(result);
    return result;
  }
  void record_timeline(timeline* times) const override {
    step_.record_timeline(job_.net.device(), times);
  }
  void add_note(const std::string& line) const override { results_.notes.push_back(line); }
  [[nodiscard]] std::vector<named_tensor>& callback_state() const override {
    return counters().callback_state;
  }

 private:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] training_state& counters() const { return state_.counters(); }
  /// The ranks that train together; null if this process trains alone.
  [[nodiscard]] training_ranks* ranks() const { return step_.ranks(); }
  [[nodiscard]] bool stopped() const { return !results_.stop_reason.empty(); }

  /// Throws an error if a data set or the metrics do not fit the model.
  void require_fitting_data(const dataset_view& train, const dataset_view* validation);
  /// Begins a new training, or continues one.
  void begin(const dataset_view& train);
  void train(const dataset_view& train, const dataset_view* validation);
  void run_behind_frozen_layers(const dataset_view& train, const dataset_view* validation);
  void run_epochs(const dataset_view& train, const dataset_view* validation);
  /// Takes the remaining steps of the epoch.
  void take_steps(detail::epoch_steps& steps);
  [[nodiscard]] epoch_record record_so_far() const;
  /// Saves the sums of an incomplete epoch, so that it can be resumed.
  void save_sums() const {
    if (counters().position > 0) {
      counters().sums = sums_->sums_so_far();
    }
  }
  [[nodiscard]] std::vector<metric> measured_metrics() const;

  /// Calls the callbacks.
  void tell(glia::event current, const glia::frozen_pass* pass = nullptr);
  /// Counts the graphs that the backend has compiled so far. Zero if it does not compile graphs.
  [[nodiscard]] compilations compiled() const { return job_.net.device().compilations(); }

  const training_job& job_;
  device_state& state_;
  training_step& step_;
  const fit_options& options_;
  glia::history& results_;
  detail::callback_list callbacks_;
  std::unique_ptr<running_scores> sums_;
  compilations before_ = compiled();     // before this call of fit
  const dataset_view* train_ = nullptr;  // while the epochs run
  // The factor of the learning rate in the last step, because a callback can change it for the next
  // one. Empty before the first step of this call of fit.
  std::optional<double> last_scale_;
  bool nothing_left_ = false;      // whether a resumed training has no epochs left
  bool not_finite_noted_ = false;  // whether a note says that the loss is not finite
};

}  // namespace glia
