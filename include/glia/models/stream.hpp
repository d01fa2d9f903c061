#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "glia/core/shape.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// The options of a `stream`.
struct stream_options {
  std::size_t batch_size = 1;  ///< Number of sequences that run side by side, at least 1.
  /// Largest number of steps of a sequence, if the model has layers that need one, such as
  /// attention. By default, 0, it is the number of steps of a sample of the model.
  std::size_t max_steps = 0;
  /// Number of steps of the longest block for which the constructor compiles graphs and `start`
  /// allocates memory, so that `run` does neither. By default, 0, the first block of a length does
  /// both.
  std::size_t prepared_steps = 0;
};

/// The state of sequences that run through a `stream`: the values of earlier steps that its layers
/// need. A copy is independent and continues from the same step.
struct stream_state {
  std::size_t steps = 0;       ///< Number of steps so far.
  std::vector<tensor> values;  ///< The tensors of the layers.
};

namespace detail {
class stream_programs;
}  // namespace detail

/// A model prepared for sequences that arrive in blocks of steps, such as the tokens of a text. It
/// keeps the state of earlier steps instead of computing them again.
///
///     const glia::stream step{net};
///     glia::stream_state state = step.start();
///     const auto y = step(prompt, state);  // prompt (1, T, ...), y (1, T, ...)
///     const auto next = step(token, state);  // one more step: (1, 1, ...)
///
/// The samples of the model are sequences (T, ...), and its outputs have one row for each step,
/// which depends on no later step. The outputs of all blocks together are those of `predict` for
/// the whole sequence: the same bits on `cpu`, with two exceptions for large products that
/// docs/how_to/streaming.md names.
///
/// These layers run in blocks: layers that treat each step alone, such as `embedding`,
/// `layer_norm`, `positional_encoding` and everything inside of `time_distributed`; `simple_rnn`,
/// `gru` and `lstm` with `return_sequences`; `conv1d` with padding `causal` and a stride of 1; and
/// `multi_head_attention` with a causal mask. These compositions can contain them: `sequential`,
/// `layer_stack`, `residual`, `named`, `shared`, `frozen` and `gpt`. Your own layer needs the
/// member `runs_stepwise`.
///
/// Sequences can have any length, unless the model has attention or a table of positions. These
/// need `max_steps`.
///
/// A stream is a snapshot, as a `prepared` model: later training does not change it. Blocks can
/// have any length. They are computed in pieces whose lengths are powers of two, and a graph is
/// compiled for each length when it is first needed, or before, with `prepared_steps`. Any number
/// of threads can use a stream at the same time, each with its own state.
///
/// Throws `value_error`, with the name of the layer, if a layer cannot run on blocks, and
/// `shape_error` if the outputs of the model have no row for each step.
class stream {
 public:
  template <layer Description>
  explicit stream(const model<Description>& net, const stream_options& options = {})
      : stream(net.core(), options) {}
  explicit stream(const model_core& net, const stream_options& options = {});

  /// Returns the state before the first step. With `prepared_steps`, it also allocates the memory
  /// for blocks of this state and of one copy of it.
  [[nodiscard]] stream_state start() const;

  /// Computes the outputs (N, B, ...) of the next B steps (N, B, ...) of the sequences, and
  /// advances the state. N is the `batch_size` of `stream_options`.
  ///
  /// Throws `shape_error` if the shape does not fit, `data_error` if a layer such as `embedding`
  /// needs integers and the steps contain other numbers, and `value_error` if the sequence becomes
  /// longer than `max_steps`, or if the shapes of the state do not fit. In these cases the state
  /// does not change. After any other error, begin with a new state.
  template <std::floating_point T = float, class Expression>
  [[nodiscard]] xt::xarray<T> operator()(const xt::xexpression<Expression>& steps,
                                         stream_state& state) const {
    const xt::xarray<T>& x = steps.derived_cast();
    const shape outputs = require_steps(shape(x.shape().begin(), x.shape().end()));
    xt::xarray<T> y(typename xt::xarray<T>::shape_type(outputs.begin(), outputs.end()));
    run(std::span<const T>(x.data(), x.size()), std::span<T>(y.data(), y.size()), state);
    return y;
  }

  /// Computes the outputs of the next steps, both in plain memory. The number of steps follows from
  /// the size of `steps`. Throws the same errors.
  ///
  /// Real time: on a `cpu` device of one thread that only this stream uses, a call with floats, for
  /// at most `prepared_steps` steps of a state of `start`, allocates no memory, takes no mutex,
  /// makes no system call and throws no exception, if the arguments fit. docs/how_to/real_time.md
  /// has the details.
  void run(std::span<const float> steps, std::span<float> outputs, stream_state& state) const;
  void run(std::span<const double> steps, std::span<double> outputs, stream_state& state) const;

  /// Throws `value_error` if the shapes of a state are not those of this stream. States of another
  /// stream with the same shapes are not detected.
  void require_own(const stream_state& state) const;

  /// The model: its plan, its device and its parameters when the stream was made.
  [[nodiscard]] const model_core& core() const;
  /// The shape of a step of one sequence, without the axes N and T.
  [[nodiscard]] const shape& step_shape() const;
  /// The shape of the output for a step, without the axes N and T.
  [[nodiscard]] const shape& output_shape() const;
  /// The number of sequences that run side by side.
  [[nodiscard]] std::size_t batch_size() const;
  /// The largest number of steps of a sequence. It is the largest number of its type if sequences
  /// can have any length.
  [[nodiscard]] std::size_t max_steps() const;

 private:
  /// Returns the shape of the outputs for steps (N, B, ...).
  [[nodiscard]] shape require_steps(const shape& steps) const;
  template <class T>
  void compute(std::span<const T> steps, std::span<T> outputs, stream_state& state) const;

  std::shared_ptr<const detail::stream_programs> programs_;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/stream_impl.hpp"
#endif
