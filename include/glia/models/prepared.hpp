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

/// The options of `model::prepare`.
struct prepare_options {
  std::size_t batch_size = 1;  ///< Number of samples in each call, at least 1.
};

/// A model prepared for fast predictions with a fixed batch size. Made by `model::prepare`.
///
///     const auto ready = net.prepare({.batch_size = 1});
///     const auto y = ready(x);
///
/// A prepared model is a snapshot: later training of the original model does not change it. Batch
/// normalization is folded into the weights, kernels are fused, and working memory is planned and
/// reused between calls.
///
/// Any number of threads can call it at the same time. Each call has its own working memory.
class prepared {
 public:
  prepared(std::shared_ptr<const inference> snapshot, const shape& batch, const shape& output,
           std::vector<detail::integer_range> integers)
      : snapshot_(std::move(snapshot)),
        batch_(batch),
        output_(output),
        integers_(std::move(integers)) {}

  /// Computes the outputs (N, ...) for inputs (N, ...sample). N is the `batch_size` of
  /// `prepare_options`. Throws `shape_error` for other shapes.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> operator()(const xt::xexpression<Expression>& inputs) const {
    const xt::xarray<T> x = inputs.derived_cast();
    const shape extents(x.shape().begin(), x.shape().end());
    require<shape_error>(extents == batch_, "prepared model: expected inputs of shape ", batch_,
                         ", got ", extents, "; call prepare again for another batch size");
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(output_.begin(), output_.end()));
    run(std::span<const T>(x.data(), x.size()), std::span<T>(y.data(), y.size()));
    return y;
  }

  /// Computes outputs from inputs, both in plain memory. Records the time of each kernel in `times`
  /// if it is not null.
  ///
  /// Real time: on a `cpu` device of one thread that only this model uses, from the third call on,
  /// a call with floats and without `times` allocates no memory, takes no mutex, makes no system
  /// call and throws no exception, if the arguments fit. docs/how_to/real_time.md has the details.
  void run(std::span<const float> inputs, std::span<float> outputs,
           timeline* times = nullptr) const {
    compute(inputs, outputs, times);
  }
  void run(std::span<const double> inputs, std::span<double> outputs,
           timeline* times = nullptr) const {
    compute(inputs, outputs, times);
  }

  /// The graph of kernels that a call runs.
  [[nodiscard]] const graph& calls() const { return require_snapshot().calls(); }

 private:
  template <class T>
  void compute(std::span<const T> inputs, std::span<T> outputs, timeline* times) const {
    const glia::device& device = require_snapshot().device();
    require_integers(integers_, inputs, sample_of(batch_).size());
    device.to_host((*snapshot_)(device.samples_from_host(inputs, batch_), times), outputs);
  }
  [[nodiscard]] const inference& require_snapshot() const {
    require<value_error>(snapshot_ != nullptr,
                         "prepared model: the object was moved from and cannot be used");
    return *snapshot_;
  }

  std::shared_ptr<const inference> snapshot_;
  shape batch_;
  shape output_;
  std::vector<detail::integer_range> integers_;
};

}  // namespace glia
