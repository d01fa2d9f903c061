#pragma once

#include <utility>
#include <vector>

#include "glia/models/model.hpp"

namespace glia {

/// What comes behind a model's frozen layers, as a model of its own that takes their outputs.
/// Parameters are the whole model's, which must outlive it. Of a const model it only infers.
template <class Model>
class trained_part {
 public:
  using backend_type = typename Model::backend_type;

  explicit trained_part(Model& whole) : whole_(&whole) {}

  [[nodiscard]] const backend_type& device() const { return whole_->device(); }
  /// The whole model's.
  [[nodiscard]] const model_plan& plan() const { return whole_->plan(); }
  [[nodiscard]] shape sample_shape() const { return whole_->frozen_output_shape(); }
  [[nodiscard]] shape output_shape() const { return whole_->output_shape(); }

  [[nodiscard]] variable<backend_type> forward(variable<backend_type> x,
                                               std::vector<gradient_slot>& slots, run_mode mode,
                                               const step_key& random) {
    return whole_->template forward_part<Model::part::trained>(std::move(x), slots, mode, random);
  }
  template <backend X>
  [[nodiscard]] variable<X> describe(scope<X>& s, variable<X> x) const {
    return whole_->describe_trained_part(s, std::move(x));
  }
  [[nodiscard]] variable<backend_type> infer(variable<backend_type> x) const {
    return whole_->template infer_part<Model::part::trained>(std::move(x));
  }

 private:
  Model* whole_;
};

}  // namespace glia
