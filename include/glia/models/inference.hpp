#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/function_ref.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/graph/program.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/graph/recorder.hpp"
#include "glia/layers/parameters.hpp"

namespace glia {

/// A description in inference, recorded and improved for one number of samples: what is computed
/// once for the same parameters, and what for each batch.
template <backend B>
struct inference_programs {
  program<B> once;
  program<B> each;
  std::atomic<std::uint64_t> versions{0};

  /// Of what was recorded with the samples as the first input and then the parameters, in their
  /// order.
  [[nodiscard]] static std::shared_ptr<inference_programs> make(
      const recorder<B>& recorded, const B& device, std::size_t rows, bool depth_first,
      const quantization* quantized = nullptr);

  inference_programs(program<B> first, program<B> then)
      : once(std::move(first)), each(std::move(then)) {}
};

/// A model as it is now, ready to infer for one number of samples: what depends on parameters alone
/// has been computed, batch normalisations are folded, kernels are fused. A value that does not
/// change when the model is trained on; any number of threads may use it side by side.
template <backend B>
class inference {
 public:
  using tensor = typename B::tensor;

  inference(std::shared_ptr<inference_programs<B>> programs, const parameter_list<B>& parameters);

  /// The outputs for a batch; when each kernel ran is written down, if there is a timeline.
  [[nodiscard]] tensor operator()(tensor x, timeline* times = nullptr) const;

  [[nodiscard]] const std::shared_ptr<inference_programs<B>>& programs() const { return programs_; }

  /// Whether it was made of these parameters as they are now.
  [[nodiscard]] bool is_of(const parameter_list<B>& parameters) const;

 private:
  std::shared_ptr<inference_programs<B>> programs_;
  std::vector<tensor> fixed_;  // the parameters, then what was computed from them
  std::uint64_t version_;
};

/// What a model needs to infer, made when it is first asked for. A copy begins without any. Any
/// number of threads may ask, as long as the parameters do not change meanwhile.
template <backend B>
class inference_cache {
 public:
  inference_cache() { made_.reserve(most); }
  inference_cache(const inference_cache&) : inference_cache() {}
  inference_cache& operator=(const inference_cache&) {
    made_.clear();
    return *this;
  }

  /// For so many samples; `make()` gives the programs for them.
  [[nodiscard]] std::shared_ptr<const inference<B>> get(
      std::size_t rows, const parameter_list<B>& parameters,
      function_ref<std::shared_ptr<inference_programs<B>>()> make) const;

 private:
  static constexpr std::size_t most = 16;

  struct entry {
    std::size_t rows = 0;
    std::shared_ptr<inference_programs<B>> programs;
    /// Of the parameters when it was made; none on backends that compile, where it would hold the
    /// memory that a training step is to write over.
    std::shared_ptr<const inference<B>> made;
  };

  [[nodiscard]] entry find(std::size_t rows) const;
  void keep(entry one) const;

  mutable spin_lock lock_;
  mutable std::vector<entry> made_;
};

}  // namespace glia

#include "glia/models/inference_impl.hpp"
