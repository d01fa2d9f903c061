#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/integer_range.hpp"
#include "glia/graph/uses.hpp"
#include "glia/layers/stream_recording.hpp"
#include "glia/models/inference_programs.hpp"
#include "glia/models/stream.hpp"

namespace glia {

namespace detail {

/// The working memory of a call of a stream.
template <class T>
struct stream_buffers {
  std::vector<tensor*> inputs;  ///< The inputs of the graph that vary.
  std::vector<T> steps;         ///< The steps of all sequences for one graph.
  std::vector<T> outputs;       ///< The outputs of all sequences of one graph.
};

/// The working memory for calls of a stream. It keeps that of one call for the next call, so a
/// thread that calls alone allocates it once. Taking it needs no lock.
template <class T>
class stream_memory {
 public:
  stream_memory() = default;
  stream_memory(const stream_memory&) = delete;
  stream_memory& operator=(const stream_memory&) = delete;
  ~stream_memory() { delete spare_.load(); }

  [[nodiscard]] std::unique_ptr<stream_buffers<T>> take() const {
    std::unique_ptr<stream_buffers<T>> buffers(spare_.exchange(nullptr));
    return buffers ? std::move(buffers) : std::make_unique<stream_buffers<T>>();
  }
  void give_back(std::unique_ptr<stream_buffers<T>> used) const {
    delete spare_.exchange(used.release());
  }

 private:
  mutable std::atomic<stream_buffers<T>*> spare_{nullptr};
};

/// A snapshot of a model, and its compiled graphs for blocks of steps.
class stream_programs {
 public:
  stream_programs(model_core snapshot, const stream_options& options)
      : net_(std::move(snapshot)), options_(options) {
    const shape sample = net_.sample_shape();
    require<value_error>(options_.batch_size > 0, "stream: expected a batch_size of at least 1");
    options_.max_steps = options_.max_steps > 0 ? options_.max_steps : sample[0];
    constexpr std::size_t largest = std::size_t{1} << 24;  // floats are exact up to it
    require<value_error>(options_.max_steps <= largest, "stream: expected at most ", largest,
                         " max_steps, got ", options_.max_steps);
    const shape outputs = net_.output_shape();
    require<shape_error>(outputs.rank() > 0 && outputs[0] == sample[0],
                         "stream: expected a model whose outputs have a row for each of the ",
                         sample[0], " steps of a sample, got outputs ",
                         batch_text(batch_of(1, outputs)),
                         "; keep the steps, for example with return_sequences");
    step_ = sample_of(sample);
    output_ = sample_of(outputs);
    for (const integer_range& range : net_.plan().integers) {
      if (range.first == 0 && range.end == sample.size()) {
        integers_.push_back(range);
        integers_.back().end = std::numeric_limits<std::size_t>::max();  // of any number of steps
      }
    }
    const graph& first = block(1).calls();
    const value_id position = first.inputs()[1].value;
    if (graph_uses(first).takers(position).empty()) {
      options_.max_steps = std::numeric_limits<std::size_t>::max();
    }
    for (const graph_input& input : first.inputs()) {
      if (input.changes()) {
        states_.push_back(first.spec(input.value).shape);
      }
    }
    for (std::size_t steps = 2; steps <= prepared_steps(); steps *= 2) {
      static_cast<void>(block(steps));
    }
  }

  [[nodiscard]] const model_core& core() const { return net_; }
  [[nodiscard]] const stream_options& options() const { return options_; }
  [[nodiscard]] const glia::device& device() const { return net_.device(); }
  [[nodiscard]] const shape& step_shape() const { return step_; }
  [[nodiscard]] const shape& output_shape() const { return output_; }
  /// The integers that the steps of a sequence must be.
  [[nodiscard]] const std::vector<integer_range>& integers() const { return integers_; }
  /// The shapes of the states.
  [[nodiscard]] const std::vector<shape>& states() const { return states_; }

  /// Returns the shape of a batch of blocks of `steps` steps.
  [[nodiscard]] shape batch(std::size_t steps, const shape& step) const {
    return batch_of(options_.batch_size, batch_of(steps, step));
  }

  /// The number of steps of the longest blocks that never allocate memory. 0 if there are none.
  [[nodiscard]] std::size_t prepared_steps() const {
    return std::min(options_.prepared_steps, options_.max_steps);
  }

  /// Returns the compiled graph for blocks of `steps` steps, which is a power of two.
  [[nodiscard]] const inference& block(std::size_t steps) const {
    std::atomic<const inference*>& known =
        compiled_[static_cast<std::size_t>(std::countr_zero(steps))];
    if (const inference* const compiled = known.load(std::memory_order_acquire)) {
      return *compiled;
    }
    const std::lock_guard guard(compiling_);
    if (known.load(std::memory_order_relaxed) == nullptr) {
      blocks_.push_back(compile(steps));
      known.store(blocks_.back().get(), std::memory_order_release);
    }
    return *known.load(std::memory_order_relaxed);
  }

  /// Returns the working memory for calls with numbers of type T.
  template <class T>
  [[nodiscard]] const stream_memory<T>& memory() const {
    return std::get<stream_memory<T>>(memory_);
  }

 private:
  /// Records and compiles a block. The inputs of the graph are the steps, the position, the states
  /// and the parameters.
  [[nodiscard]] std::unique_ptr<const inference> compile(std::size_t steps) const {
    recorder rec(net_.device().fused());
    glia::tape tape(rec);
    const variable x = tape.constant(rec.samples("steps", real_of(batch(steps, step_))));
    stream_recording recording(rec, steps, options_.max_steps);
    const parameter_list parameters = as_inputs(rec, net_.parameters());
    std::vector<gradient_slot> slots;
    scope s(tape, parameters, slots);
    s.set_stream(&recording);
    const variable y = net_.run(s, x);
    require<shape_error>(y.shape() == batch(steps, output_), "stream: expected outputs ",
                         batch(steps, output_), " for a block of ", steps,
                         steps == 1 ? " step" : " steps", ", got ", y.shape(),
                         "; a layer joins or drops steps");
    rec.output("outputs", y.value());
    auto& inputs = rec.recorded().inputs();
    const std::size_t varying = inputs.size() - parameters.size();
    std::rotate(inputs.begin() + 2,
                inputs.begin() + 2 + static_cast<std::ptrdiff_t>(parameters.size()), inputs.end());
    auto programs =
        inference_programs::make(rec, net_.device(), options_.batch_size, false, nullptr, varying);
    return std::make_unique<const inference>(std::move(programs), net_.parameters());
  }

  model_core net_;
  stream_options options_;
  shape step_;
  shape output_;
  std::vector<integer_range> integers_;
  std::vector<shape> states_;
  std::tuple<stream_memory<float>, stream_memory<double>> memory_;
  mutable std::mutex compiling_;
  mutable std::vector<std::unique_ptr<const inference>> blocks_;
  /// The blocks of 1, 2, 4, ... steps. Null before they are compiled.
  mutable std::array<std::atomic<const inference*>, std::numeric_limits<std::size_t>::digits>
      compiled_{};
};

}  // namespace detail

GLIA_INLINE stream::stream(const model_core& net, const stream_options& options)
    : programs_(std::make_shared<const detail::stream_programs>(net, options)) {}

GLIA_INLINE stream_state stream::start() const {
  stream_state state;
  for (const shape& s : programs_->states()) {
    state.values.push_back(programs_->device().run(kernels::full{s, 0}));
  }
  const std::size_t longest = programs_->prepared_steps();
  if (longest == 0) {
    return state;
  }
  // These lengths contain all pieces of shorter blocks, alone and beside others. Their memory stays
  // in the pool of the device. The first call copies the state, the second one begins with a state
  // of its own, and the third one finds all blocks that the others borrowed.
  const std::size_t largest_piece = std::bit_floor(longest);
  const std::vector<float> steps(batch_size() * longest * step_shape().size());
  std::vector<float> outputs(batch_size() * longest * output_shape().size());
  for (const std::size_t count : {longest, largest_piece, largest_piece - 1}) {
    stream_state copy = state;
    for (int call = 0; call < 3; ++call) {
      copy.steps = 0;
      run(std::span(steps).first(batch_size() * count * step_shape().size()),
          std::span(outputs).first(batch_size() * count * output_shape().size()), copy);
    }
  }
  return state;
}

GLIA_INLINE void stream::require_own(const stream_state& state) const {
  const std::vector<shape>& states = programs_->states();
  require<value_error>(
      std::equal(
          states.begin(), states.end(), state.values.begin(), state.values.end(),
          [](const shape& expected, const tensor& value) { return expected == value.shape(); }),
      "stream: the state belongs to another stream; make it with start() of this stream");
}

GLIA_INLINE const model_core& stream::core() const { return programs_->core(); }
GLIA_INLINE const shape& stream::step_shape() const { return programs_->step_shape(); }
GLIA_INLINE const shape& stream::output_shape() const { return programs_->output_shape(); }
GLIA_INLINE std::size_t stream::batch_size() const { return programs_->options().batch_size; }
GLIA_INLINE std::size_t stream::max_steps() const { return programs_->options().max_steps; }

GLIA_INLINE shape stream::require_steps(const shape& steps) const {
  const std::size_t count = steps.rank() > 1 ? steps[1] : 0;
  const shape expected = programs_->batch(count, step_shape());
  require<shape_error>(steps == expected, "stream: expected steps of shape ",
                       programs_->batch(1, step_shape()), ", with any number of steps, got ",
                       steps);
  return programs_->batch(count, output_shape());
}

template <class T>
void stream::compute(std::span<const T> steps, std::span<T> outputs, stream_state& state) const {
  const std::size_t sequences = programs_->options().batch_size;
  const std::size_t step_size = step_shape().size();
  const std::size_t output_size = output_shape().size();
  const std::size_t count = steps.size() / (sequences * step_size);
  require<shape_error>(steps.size() == count * sequences * step_size &&
                           outputs.size() == count * sequences * output_size,
                       "stream: expected ", step_size, " numbers for each step of each of ",
                       sequences, " sequences, and ", output_size, " for its output, got ",
                       steps.size(), " and ", outputs.size());
  require_own(state);
  require<value_error>(count <= max_steps() - std::min(state.steps, max_steps()),
                       "stream: a sequence of ", state.steps + count,
                       " steps is longer than max_steps, ", max_steps(),
                       "; begin a new one with start(), or make the stream with more max_steps");
  if (count == 0) {
    return;
  }
  require_integers(programs_->integers(), steps, count * step_size);
  const auto piece_after = [&](std::size_t done) { return std::bit_floor(count - done); };
  for (std::size_t done = 0; done < count; done += piece_after(done)) {
    static_cast<void>(programs_->block(piece_after(done)));  // compiles before the state changes
  }
  const glia::device& device = programs_->device();
  auto buffers = programs_->memory<T>().take();
  std::size_t piece = 0;
  for (std::size_t done = 0; done < count; done += piece) {
    piece = piece_after(done);
    const bool whole = piece == count || sequences == 1;
    std::span<const T> x =
        steps.subspan(done * step_size, whole ? piece * sequences * step_size : 0);
    std::span<T> y =
        outputs.subspan(done * output_size, whole ? piece * sequences * output_size : 0);
    if (!whole) {
      buffers->steps.resize(sequences * piece * step_size);
      buffers->outputs.resize(sequences * piece * output_size);
      for (std::size_t n = 0; n < sequences; ++n) {
        std::copy_n(&steps[(n * count + done) * step_size], piece * step_size,
                    &buffers->steps[n * piece * step_size]);
      }
      x = buffers->steps;
      y = buffers->outputs;
    }
    tensor samples = device.samples_from_host(x, programs_->batch(piece, step_shape()));
    const auto position_number = static_cast<float>(state.steps);
    tensor position = device.from_host(std::span<const float>(&position_number, 1), {});
    buffers->inputs.assign({&samples, &position});
    for (tensor& value : state.values) {
      buffers->inputs.push_back(&value);
    }
    tensor result;
    programs_->block(piece).run(buffers->inputs, std::span(&result, 1));
    device.to_host(result, y);
    if (!whole) {
      for (std::size_t n = 0; n < sequences; ++n) {
        std::copy_n(&buffers->outputs[n * piece * output_size], piece * output_size,
                    &outputs[(n * count + done) * output_size]);
      }
    }
    state.steps += piece;
  }
  programs_->memory<T>().give_back(std::move(buffers));
}

GLIA_INLINE void stream::run(std::span<const float> steps, std::span<float> outputs,
                             stream_state& state) const {
  compute(steps, outputs, state);
}
GLIA_INLINE void stream::run(std::span<const double> steps, std::span<double> outputs,
                             stream_state& state) const {
  compute(steps, outputs, state);
}

}  // namespace glia
