#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "glia/kernels/recurrence.hpp"
#include "glia/onnx/writing/elementwise.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

namespace detail {

/// Writes the steps of a recurrent layer one after the other.
class step_writer {
 public:
  step_writer(const lowering& l, const kernels::recurrence& k)
      : l_(&l), out_(&l.out), kernel_(k), units_(static_cast<std::int64_t>(l.x[1].shape[0].count)) {
    weights_ = out_->use(l.x[1]);
    bias_ = l.x[2] ? out_->use(l.x[2]) : "";
    projected_ = out_->use(out_->plain(l.x[0]));
    counts_ = out_->use(out_->plain(l.x[4]));
  }

  /// Returns all states (N, T, U). A masked step does not change the state.
  [[nodiscard]] std::string states() {
    const std::size_t steps = l_->x[0].shape[1].count;
    const extents start{l_->x[0].shape[0], {static_cast<std::size_t>(units_), false}};
    std::string h = out_->call("Expand", {out_->number(0), out_->shape_tensor(start)});
    std::string c = h;
    names step_states(steps);
    for (std::size_t i = 0; i < steps; ++i) {
      const std::size_t t = kernel_.backwards ? steps - 1 - i : i;
      const auto [new_h, new_c] = next(at_step(projected_, t), h, c);
      const std::string masked =
          out_->call("Equal", {columns(counts_, static_cast<std::int64_t>(t), 1), out_->number(0)});
      h = out_->call("Where", {masked, h, new_h});
      if (kernel_.cell == recurrent_cell::lstm) {
        c = out_->call("Where", {masked, c, new_c});
      }
      step_states[t] = out_->call("Unsqueeze", {h, out_->whole({1})});
    }
    return out_->call("Concat", step_states,
                      [](::onnx::NodeProto& node) { writer::set(node, "axis", std::int64_t{1}); });
  }

 private:
  /// Returns `count` columns of axis 1, from column `begin` on.
  [[nodiscard]] std::string columns(const std::string& x, std::int64_t begin, std::int64_t count) {
    return out_->call("Slice",
                      {x, out_->whole({begin}), out_->whole({begin + count}), out_->whole({1})});
  }
  [[nodiscard]] std::string at_step(const std::string& x, std::size_t t) {
    return out_->call("Squeeze", {columns(x, static_cast<std::int64_t>(t), 1), out_->whole({1})});
  }
  /// Returns the U columns of gate `number`.
  [[nodiscard]] std::string part(const std::string& x, std::int64_t number) {
    return columns(x, number * units_, units_);
  }
  [[nodiscard]] std::string add(const std::string& a, const std::string& b) {
    return out_->call("Add", {a, b});
  }
  [[nodiscard]] std::string multiply(const std::string& a, const std::string& b) {
    return out_->call("Mul", {a, b});
  }

  [[nodiscard]] std::pair<std::string, std::string> next(const std::string& step,
                                                         const std::string& h,
                                                         const std::string& c) {
    std::string product = out_->call("MatMul", {h, weights_});
    if (!bias_.empty()) {
      product = add(product, bias_);
    }
    const auto sigmoid = [&](const std::string& x) { return out_->call("Sigmoid", {x}); };
    const auto tanh = [&](const std::string& x) { return out_->call("Tanh", {x}); };
    if (kernel_.cell == recurrent_cell::simple) {
      return {tanh(add(step, product)), ""};
    }
    if (kernel_.cell == recurrent_cell::gru) {
      const std::string z = sigmoid(add(part(step, 0), part(product, 0)));
      const std::string r = sigmoid(add(part(step, 1), part(product, 1)));
      const std::string candidate = tanh(add(part(step, 2), multiply(r, part(product, 2))));
      return {add(candidate, multiply(z, out_->call("Sub", {h, candidate}))), ""};
    }
    const std::string gates = add(step, product);
    const std::string retained = multiply(sigmoid(part(gates, 1)), c);
    const std::string memory =
        add(retained, multiply(sigmoid(part(gates, 0)), tanh(part(gates, 2))));
    return {multiply(sigmoid(part(gates, 3)), tanh(memory)), memory};
  }

  const lowering* l_;
  writer* out_;
  kernels::recurrence kernel_;
  std::int64_t units_;
  std::string weights_;
  std::string bias_;
  std::string projected_;
  std::string counts_;
};

}  // namespace detail

/// Writes a recurrent layer that skips masked steps, with separate nodes for each step. ONNX's
/// recurrent operators cannot skip steps.
[[nodiscard]] inline values lower_steps(const lowering& l, const kernels::recurrence& k) {
  return {l.result(detail::step_writer(l, k).states()), value{}};
}

}  // namespace glia::onnx
