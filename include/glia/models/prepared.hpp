#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/integer_range.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/models/inference.hpp"

namespace glia {

/// What a model is made ready for.
struct prepare_options {
  std::size_t batch = 1;  ///< how many samples it takes at a time; at least 1
};

/// A model made ready to predict, as it was when it was made: weights are folded, memory is
/// planned, what a call needs beside its result is kept from call to call.
///
///     const auto ready = net.prepare({.batch = 1});
///     const auto y = ready(x);
///
/// Any number of threads may call it side by side, each with memory of its own. Training the model
/// on does not change it.
template <backend B>
class prepared {
 public:
  prepared(std::shared_ptr<const inference<B>> made, const shape& batch, const shape& output,
           std::vector<integer_range> integers)
      : made_(std::move(made)), batch_(batch), output_(output), integers_(std::move(integers)) {}

  /// The outputs (N, ...) for inputs (N, ...sample), N being the batch that it was made for. Throws
  /// `shape_error` for others.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> operator()(const xt::xexpression<Expression>& inputs) const {
    const xt::xarray<T> x = inputs.derived_cast();
    const shape given(x.shape().begin(), x.shape().end());
    require<shape_error>(given == batch_, "prepared model: expected inputs ", batch_, ", got ",
                         given, "; prepare another for other batches");
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(output_.begin(), output_.end()));
    run(std::span<const T>(x.data(), x.size()), std::span<T>(y.data(), y.size()));
    return y;
  }

  /// The same in plain memory; when each kernel ran is written down, if there is a timeline.
  void run(std::span<const float> inputs, std::span<float> outputs,
           timeline* times = nullptr) const {
    compute(inputs, outputs, times);
  }
  void run(std::span<const double> inputs, std::span<double> outputs,
           timeline* times = nullptr) const {
    compute(inputs, outputs, times);
  }

  /// The kernels that a call runs.
  [[nodiscard]] const graph& calls() const { return made().programs()->each.calls(); }

 private:
  template <class T>
  void compute(std::span<const T> inputs, std::span<T> outputs, timeline* times) const {
    const B& device = made().programs()->each.device();
    require_integers(integers_, inputs, sample_of(batch_).size());
    device.to_host((*made_)(samples_from_host(device, inputs, batch_), times), outputs);
  }
  [[nodiscard]] const inference<B>& made() const {
    require<value_error>(made_ != nullptr, "prepared model: it was moved from");
    return *made_;
  }

  std::shared_ptr<const inference<B>> made_;
  shape batch_;
  shape output_;
  std::vector<integer_range> integers_;
};

}  // namespace glia
