#pragma once

#include <glia/backends/program.hpp>
#include <glia/backends/recorder.hpp>
#include <glia/graph/improve.hpp>
#include <glia/graph/passes.hpp>
#include <glia/testing/values.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "helpers.hpp"

namespace test {

/// A forward and backward pass of a model in training: its output, then the gradients of its
/// parameters and of its input, all flattened. Outputs are weighted, not all alike, as their
/// gradients would else cancel behind a batch normalization.
using pass_results = std::vector<std::vector<float>>;

inline glia::variable weighted_sum(const glia::variable& y) {
  const auto weights = glia::testing::test_values(y.shape(), 2);
  return glia::ops::sum(
      y * y.owner().constant(y.device().from_host(std::span<const float>(weights), y.shape())));
}

/// The pass on a backend that runs at once.
template <class Description>
pass_results pass_at_once(glia::model<Description>& net, const std::vector<float>& values,
                          const glia::step_key& key) {
  const glia::device& device = net.device();
  const std::size_t samples = values.size() / net.sample_shape().size();
  glia::tape tape(device);
  std::vector<glia::gradient_slot> slots;
  const auto x = tape.leaf(tensor_of(device, glia::batch_of(samples, net.sample_shape()), values));
  const auto y = net.forward(x, slots, glia::run_mode::training, key);
  tape.backward(weighted_sum(y));
  pass_results results{values_of(device, y.value())};
  for (const glia::gradient_slot slot : slots) {
    if (slot) {
      results.push_back(values_of(device, tape.take_gradient(slot)));
    }
  }
  results.push_back(values_of(device, tape.take_gradient(x.slot())));
  return results;
}

struct recording_options {
  bool fuse = true;
  bool cut = true;
  bool always = false;  // cut also where little is won
};

/// The same pass recorded once, to be replayed.
class recorded_pass {
 public:
  template <class Description>
  recorded_pass(const glia::model<Description>& net, std::size_t samples,
                const recording_options& options)
      : program_(record(net, samples, options)) {}

  /// Replays it with a model's parameters, which it changes where the description does.
  template <class Description>
  pass_results operator()(glia::model<Description>& net, const std::vector<float>& values,
                          const glia::step_key& key) const {
    const glia::device& device = program_.device();
    const auto words = key.to_words();
    auto x = device.from_host(std::span<const float>(values),
                              program_.calls().spec(program_.calls().inputs()[0].value).shape);
    auto random = device.from_host(std::span<const std::int32_t>(words), {words.size()});
    std::vector<glia::tensor*> inputs{&x, &random};
    for (auto& p : net.parameters()) {
      inputs.push_back(&p.value);
    }
    std::vector<glia::tensor> outputs(program_.calls().outputs().size());
    program_.run(inputs, outputs);
    pass_results results;
    for (const auto& output : outputs) {
      results.push_back(values_of(device, output));
    }
    return results;
  }

  const glia::graph& calls() const { return program_.calls(); }

 private:
  template <class Description>
  static glia::program record(const glia::model<Description>& net, std::size_t samples,
                              const recording_options& options) {
    const glia::recorder rec(net.device().fused());
    glia::tape tape(rec);
    const auto x =
        tape.leaf(rec.input("x", glia::real_of(glia::batch_of(samples, net.sample_shape()))));
    const auto key = rec.input("key", {{glia::step_key::words}, glia::element::index});
    auto parameters = glia::detail::as_inputs(rec, net.parameters());
    const auto initial = parameters;
    std::vector<glia::gradient_slot> slots;
    glia::scope s(tape, parameters, slots, key);
    const auto y = net.describe(s, x);
    rec.output("y", y.value());
    tape.backward(weighted_sum(y));
    for (const glia::gradient_slot slot : slots) {
      if (slot) {
        rec.output("gradient", tape.take_gradient(slot));
      }
    }
    rec.output("dx", tape.take_gradient(x.slot()));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].value.number() != initial[i].value.number()) {
        rec.next(initial[i].value, parameters[i].value);
      }
    }
    glia::graph g = rec.recorded();
    std::vector<std::size_t> varying(g.inputs().size());
    std::iota(varying.begin(), varying.end(), std::size_t{0});
    if (options.fuse) {
      glia::detail::fuse_kernels(g, varying, net.device().fused());
    }
    if (options.cut) {
      glia::passes::cut_options cut;
      if (options.always) {
        cut.worthwhile_bytes = 0;
        cut.packing_cost = 0;
      }
      glia::passes::cut_batch(g, samples, cut);
    }
    return glia::program(std::move(g), net.device());
  }

  glia::program program_;
};

}  // namespace test
