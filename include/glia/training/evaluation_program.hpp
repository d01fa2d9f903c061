#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/recorder.hpp"
#include "glia/graph/improve.hpp"
#include "glia/models/model_core.hpp"
#include "glia/training/batch_tensors.hpp"
#include "glia/training/step_program_impl.hpp"

namespace glia::detail {

/// A graph that computes the outputs of a model and their loss and metrics, for batches of one
/// size. Used to evaluate on devices that compile whole graphs. Its inputs are the samples, the
/// parameters, the targets and the mask of `step_inputs::present`. Its outputs are the same sums as
/// for `step_program`.
class evaluation_program {
 public:
  evaluation_program(const model_core& net, model_part part, std::size_t rows,
                     const target_spec& targets, const any_loss& loss, const scoring& scores)
      : program_(
            record(net, net.recorded(part, rows), rows, targets, loss, scores, mixes_samples_)),
        counted_(scores.counted) {}

  /// Whether a sample affects the outputs for other samples.
  [[nodiscard]] bool mixes_samples() const { return mixes_samples_; }

  /// Computes the sums of the loss and the metrics over a batch. The first `samples` rows of the
  /// batch are samples; the other rows are padding.
  void run(const model_core& net, const batch& b, std::size_t samples,
           std::span<tensor> sums) const {
    const model_access::reading unchanged(net.access());
    const glia::device& device = net.device();
    tensor x = device.samples_from_host(std::span<const float>(b.inputs), b.input_shape);
    targets t = targets_of(device, b, net.output_shape());
    tensor present = present_rows(device, counted_, b, samples);
    std::vector<tensor> parameters;
    std::vector<tensor*> inputs{&x};
    parameters.reserve(net.parameters().size());
    for (const parameter& p : net.parameters()) {
      inputs.push_back(&parameters.emplace_back(p.value));
    }
    append_targets(t, inputs);
    inputs.push_back(&present);
    program_.run(inputs, sums);
  }

 private:
  [[nodiscard]] static program record(const model_core& net, const recorder& rec, std::size_t rows,
                                      const target_spec& target, const any_loss& loss,
                                      const scoring& scores, bool& mixes) {
    const auto y = rec.value(rec.recorded().outputs().front().value);
    recorder copy = rec;
    copy.recorded().outputs().clear();
    glia::tape tape(rec);
    const targets t = detail::targets_input(rec, target);
    const auto present = detail::present_input(rec, rows);
    rec.set_place("loss");
    const auto losses = loss(tape.constant(y), t).value();
    mixes = passes::mixes_samples(rec.recorded());  // before the metrics, which may mix samples
    rec.set_place("metrics");
    detail::output_sums(rec, {y, losses}, t, scores, present);
    graph g = rec.recorded();
    // The samples, the targets, the weights and the mask vary, but not the parameters.
    std::vector<std::size_t> varying{0};
    for (std::size_t i = 1 + net.parameters().size(); i < g.inputs().size(); ++i) {
      varying.push_back(i);
    }
    fuse_kernels(g, varying, net.device().fused());
    return program(std::move(g), net.device());
  }

  bool mixes_samples_ = false;  // set while the graph is recorded
  program program_;
  counted_targets counted_;
};

}  // namespace glia::detail
