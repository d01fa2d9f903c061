#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/graph/timeline.hpp"
#include "glia/layers/parameters.hpp"

namespace glia {

class graph;
namespace detail {
struct inference_programs;
}  // namespace detail

/// A snapshot of a model for inference with one batch size. Values that depend only on parameters
/// are already computed, batch normalization is folded into the weights, and kernels are fused.
/// Later training does not change it. Any number of threads can use it at the same time.
class inference {
 public:
  inference(std::shared_ptr<detail::inference_programs> programs, const parameter_list& parameters);

  /// Computes the outputs for a batch. Records the time of each kernel in `times` if it is not
  /// null.
  [[nodiscard]] tensor operator()(tensor x, timeline* times = nullptr) const;
  /// Runs the graph with its varying inputs. An input with a next value is replaced by it.
  void run(std::span<tensor* const> inputs, std::span<tensor> outputs,
           timeline* times = nullptr) const;

  [[nodiscard]] const std::shared_ptr<detail::inference_programs>& programs() const {
    return programs_;
  }
  /// The graph that computes the outputs of a batch.
  [[nodiscard]] const graph& calls() const;
  /// The device of the graph.
  [[nodiscard]] const glia::device& device() const;

  /// Whether the snapshot was made from the current values of these parameters.
  [[nodiscard]] bool is_of(const parameter_list& parameters) const;

 private:
  std::shared_ptr<detail::inference_programs> programs_;
  std::vector<tensor> fixed_;  // the parameters, then the tensors computed from them
  std::uint64_t version_;
};

/// The snapshots of a model for inference, made when they are first needed. A copy of the cache is
/// empty. Any number of threads can use it, as long as the parameters do not change meanwhile.
class inference_cache {
 public:
  inference_cache() { entries_.reserve(max_entries); }
  inference_cache(const inference_cache&) : inference_cache() {}
  inference_cache& operator=(const inference_cache&) {
    entries_.clear();
    return *this;
  }

  /// Returns the snapshot for batches of `rows` samples. If there is no snapshot yet, calls
  /// `make()` to compile the graphs.
  [[nodiscard]] std::shared_ptr<const inference> get(
      std::size_t rows, const parameter_list& parameters,
      function_ref<std::shared_ptr<detail::inference_programs>()> make) const;

 private:
  static constexpr std::size_t max_entries = 16;

  struct entry {
    std::size_t rows = 0;
    std::shared_ptr<detail::inference_programs> programs;
    /// The last snapshot. Null on devices that compile whole graphs, because the snapshot would
    /// keep tensors whose memory a training step overwrites.
    std::shared_ptr<const inference> snapshot;
  };

  [[nodiscard]] entry find(std::size_t rows) const;
  void keep(entry added) const;

  mutable detail::spin_lock lock_;
  mutable std::vector<entry> entries_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/inference_impl.hpp"
#endif
