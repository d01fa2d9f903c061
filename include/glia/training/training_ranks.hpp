#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

struct callback_result;
struct distribution;
struct named_tensor;
class running_scores;
class step_runner;
struct training_state;

/// Thrown on every rank if one of the processes that train together fails or disappears. The
/// message contains that rank's number, machine and reason.
struct rank_error : error {
  using error::error;
};

/// A setting that must be the same on all ranks, with its value on this rank.
struct rank_setting {
  std::string name;
  std::string value;
};

/// The scores of the batches that one rank has evaluated.
struct batch_scores {
  std::vector<std::size_t> sizes;   ///< Number of samples of each batch.
  std::vector<std::size_t> counts;  ///< Number of samples of each batch that are not ignored.
  std::vector<double> weight_sums;  ///< Sum of the weights of these samples, for each batch.
  std::vector<double> sums;         ///< See scoring::sums; one after the other.
  // Only if a metric needs outputs, for all samples:
  std::vector<float> outputs;
  std::vector<std::int32_t> classes;
  std::vector<float> targets;
  std::vector<float> sample_weights;  ///< Empty if the samples have no weights.
};

/// The processes that train one model together, as a training sees them. All ranks call the
/// functions at the same point of the program. `rank_group` implements this interface.
class training_ranks {
 public:
  training_ranks() = default;
  training_ranks(const training_ranks&) = delete;
  training_ranks& operator=(const training_ranks&) = delete;
  virtual ~training_ranks() = default;

  /// Returns the number of this rank, from 0 to size() - 1.
  [[nodiscard]] virtual std::size_t rank() const noexcept = 0;
  /// Returns the number of ranks.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
  /// Tells all ranks that this rank cannot continue, and the reason.
  virtual void fail(std::string_view reason) noexcept = 0;

  /// Returns the object that takes the steps of these ranks. `shared` contains the ranks. Throws
  /// `value_error` for options that cannot be combined.
  [[nodiscard]] virtual std::shared_ptr<step_runner> make_step_runner(
      const distribution& shared) = 0;

  /// Throws `rank_error` on every rank if the settings of a training, or the programs, differ.
  virtual void require_same_training(std::span<const rank_setting> settings) = 0;
  /// Throws `rank_error` on every rank if the tensors of a rank differ from those of rank 0.
  virtual void require_same_tensors(std::span<const named_tensor> tensors) = 0;
  /// Sends the training state of rank 0 to all ranks and returns it.
  [[nodiscard]] virtual training_state state_of_first(const training_state& state) = 0;
  /// Returns the same callback result on all ranks: the result of the lowest rank whose callbacks
  /// stop or interrupt the training. If no callback does, the training continues.
  [[nodiscard]] virtual callback_result agree(const callback_result& result) = 0;
  /// Returns the text of the lowest rank whose text is not empty, followed by ", on " and the name
  /// of the rank. Empty if all texts are empty.
  [[nodiscard]] virtual std::string first_text(const std::string& local_text) = 0;
  /// Returns whether a value is true on any rank.
  [[nodiscard]] virtual bool any(bool value) = 0;
  /// Returns the concatenated numbers of all ranks.
  [[nodiscard]] virtual std::vector<float> concatenate(const std::vector<float>& values) = 0;
  /// Adds the scores of all ranks to `scores`, in the order of the batches, which the ranks took in
  /// turn. The result is the same, bit for bit, for every number of ranks.
  virtual void add_scores(const batch_scores& local_scores, running_scores& scores) = 0;
  /// Returns after all ranks have called it.
  virtual void wait_for_all() = 0;
};

/// Calls `body`, which all ranks call at the same point of the program. If it throws an exception
/// on this rank, the other ranks are told and throw `rank_error`, because they cannot continue
/// without this rank. `ranks` is null if there is only one process.
template <class Body>
decltype(auto) together(training_ranks* ranks, const Body& body) {
  try {
    return body();
  } catch (const rank_error&) {
    throw;
  } catch (const std::exception& e) {
    if (ranks != nullptr) {
      ranks->fail(e.what());
    }
    throw;
  }
}

}  // namespace glia
