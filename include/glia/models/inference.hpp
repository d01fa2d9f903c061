#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/core/spin_lock.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/passes/hoist.hpp"
#include "glia/graph/program.hpp"
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
  [[nodiscard]] static std::shared_ptr<inference_programs> make(const recorder<B>& recorded,
                                                                const B& device, std::size_t rows,
                                                                bool depth_first) {
    graph g = recorded.recorded();
    const std::vector<std::size_t> varying{0};
    fuse_kernels<B>(g, varying);
    passes::hoisted parts = passes::hoist(std::move(g), varying);
    if (depth_first) {
      cut_for_lanes(parts.each, device, rows);
    }
    return std::make_shared<inference_programs>(
        program<B>(std::move(parts.once), recorded.how(), device),
        program<B>(std::move(parts.each), recorded.how(), device));
  }

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

  inference(std::shared_ptr<inference_programs<B>> programs, const parameter_list<B>& parameters)
      : programs_(std::move(programs)), version_(++programs_->versions) {
    const program<B>& once = programs_->once;
    std::vector<tensor*> inputs;
    fixed_.reserve(parameters.size() + once.calls().outputs().size());
    for (const parameter<B>& p : parameters) {
      inputs.push_back(&fixed_.emplace_back(p.value));
    }
    std::vector<tensor> hoisted(once.calls().outputs().size());
    once.run(inputs, hoisted);
    std::move(hoisted.begin(), hoisted.end(), std::back_inserter(fixed_));
  }

  /// The outputs for a batch.
  [[nodiscard]] tensor operator()(tensor x) const {
    tensor y;
    tensor* const input = &x;
    programs_->each.run(std::span(&input, 1), std::span(&y, 1), {fixed_, version_});
    return y;
  }

  [[nodiscard]] const std::shared_ptr<inference_programs<B>>& programs() const { return programs_; }

  /// Whether it was made of these parameters as they are now.
  [[nodiscard]] bool is_of(const parameter_list<B>& parameters) const {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!fixed_[i].shares_memory(parameters[i].value)) {
        return false;
      }
    }
    return true;
  }

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
  template <class Make>
  [[nodiscard]] std::shared_ptr<const inference<B>> get(std::size_t rows,
                                                        const parameter_list<B>& parameters,
                                                        const Make& make) const {
    std::shared_ptr<const inference<B>> known = find(rows);
    if (known && known->is_of(parameters)) {
      return known;
    }
    auto made =
        std::make_shared<const inference<B>>(known ? known->programs() : make(), parameters);
    keep(rows, made);
    return made;
  }

 private:
  static constexpr std::size_t most = 16;

  struct entry {
    std::size_t rows;
    std::shared_ptr<const inference<B>> made;
  };

  [[nodiscard]] std::shared_ptr<const inference<B>> find(std::size_t rows) const {
    const std::lock_guard guard(lock_);
    for (const entry& one : made_) {
      if (one.rows == rows) {
        return one.made;
      }
    }
    return nullptr;
  }

  void keep(std::size_t rows, std::shared_ptr<const inference<B>> made) const {
    const std::lock_guard guard(lock_);
    for (entry& one : made_) {
      if (one.rows == rows) {
        one.made.swap(made);
        return;
      }
    }
    if (made_.size() == most) {
      made_.erase(made_.begin());
    }
    made_.push_back({rows, std::move(made)});
  }

  mutable spin_lock lock_;
  mutable std::vector<entry> made_;
};

}  // namespace glia
