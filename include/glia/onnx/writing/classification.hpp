#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "glia/core/error.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/kernels/normalization.hpp"
#include "glia/onnx/writing/arrangement.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

[[nodiscard]] inline values lower(const lowering& l, const kernels::softmax&) {
  const value x = l.out.plain(l.x[0]);
  return {l.result(l.out.call("Softmax", {l.out.use(x)}, [](::onnx::NodeProto& node) {
    writer::set(node, "axis", std::int64_t{-1});
  }))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::normalize& k) {
  const std::string gamma = l.out.use(l.x[1]);
  if (k.kind == normalization::group && l.x[0].rank() > 2 &&
      l.x[0].shape.back().count == k.groups) {
    axis_order order = plain_order(l.x[0].rank());
    order.pop_back();
    order.insert(order.begin() + 1, l.x[0].rank() - 1);
    const std::string y =
        l.out.call("InstanceNormalization",
                   {l.out.use(l.out.arranged(l.x[0], order)), gamma, l.out.use(l.x[2])},
                   [&](::onnx::NodeProto& node) {
                     writer::set(node, "epsilon", static_cast<float>(k.epsilon));
                   });
    return {l.result(y, order), value{}, value{}};
  }
  const value x = l.out.plain(l.x[0]);
  std::string elements = l.out.use(x);
  if (k.kind == normalization::layer) {
    const names operands{elements, gamma, l.out.use(l.x[2])};
    const std::string y = l.out.call("LayerNormalization", operands, [&](::onnx::NodeProto& node) {
      writer::set(node, "axis", std::int64_t{-1});
      writer::set(node, "epsilon", static_cast<float>(k.epsilon));
    });
    return {l.result(y), value{}, value{}};
  }
  writer& w = l.out;
  integers shared;  // axes along which elements share their statistics
  if (k.kind == normalization::group) {
    std::size_t positions = 1;
    for (std::size_t axis = 1; axis + 1 < x.rank(); ++axis) {
      positions *= x.shape[axis].count;
    }
    elements = reshaped(l, x,
                        {x.shape[0],
                         {positions, false},
                         {k.groups, false},
                         {x.shape.back().count / k.groups, false}});
    shared = {1, 3};
  } else if (k.kind == normalization::rms) {
    shared = {-1};
  } else {
    for (std::size_t axis = 0; axis + 1 < x.rank(); ++axis) {
      shared.push_back(static_cast<std::int64_t>(axis));
    }
  }
  const auto mean_of = [&](const std::string& name) {
    return w.call("ReduceMean", {name},
                  [&](::onnx::NodeProto& node) { writer::set(node, "axes", shared); });
  };
  const std::string apart =
      k.kind == normalization::rms ? elements : w.call("Sub", {elements, mean_of(elements)});
  const std::string variance = mean_of(w.call("Mul", {apart, apart}));
  const std::string deviation = w.call("Sqrt", {w.call("Add", {variance, w.number(k.epsilon)})});
  std::string normal = w.call("Div", {apart, deviation});
  if (k.kind == normalization::group) {
    normal = w.call("Reshape", {normal, w.reshape_tensor(x.shape)});
  }
  const std::string scaled = w.call("Mul", {normal, gamma});
  const constant* const beta = l.x[2].known;
  if (beta != nullptr && std::count(beta->numbers.begin(), beta->numbers.end(), 0.0F) ==
                             static_cast<std::ptrdiff_t>(beta->numbers.size())) {
    return {l.result(scaled), value{}, value{}};
  }
  return {l.result(w.call("Add", {scaled, w.use(l.x[2])})), value{}, value{}};
}

/// Writes the conversion of numbers to 64-bit integers. A number that is no index becomes -1.
[[nodiscard]] inline values lower(const lowering& l, const kernels::to_index&) {
  writer& w = l.out;
  const std::string x = w.use(l.x[0]);
  const std::string enough = w.call("GreaterOrEqual", {x, w.number(0)});
  const std::string not_more = w.call("Less", {x, w.number(0x1p31)});
  const std::string whole = w.call("Equal", {w.call("Floor", {x}), x});
  const std::string good = w.call("And", {w.call("And", {enough, not_more}), whole});
  const std::string real = w.call("Where", {good, x, w.number(-1)});
  return {l.result(w.call("Cast", {real},
                          [](::onnx::NodeProto& node) {
                            writer::set(node, "to", std::int64_t{::onnx::TensorProto::INT64});
                          }),
                   l.x[0].order)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::gather&) {
  writer& w = l.out;
  const std::string indices = w.use(w.plain(l.x[1]));
  const auto count = static_cast<std::int64_t>(l.x[0].shape[0].count);
  const std::string inside =
      w.call("And", {w.call("GreaterOrEqual", {indices, w.whole({0}, false)}),
                     w.call("Less", {indices, w.whole({count}, false)})});
  const std::string safe = w.call("Where", {inside, indices, w.whole({0}, false)});
  const std::string rows = w.call("Gather", {w.use(w.plain(l.x[0])), safe});
  integers columns;
  for (std::size_t axis = l.x[1].rank(); axis < l.results[0].size(); ++axis) {
    columns.push_back(static_cast<std::int64_t>(axis));
  }
  const std::string holds = w.call("Unsqueeze", {inside, w.whole(columns)});
  return {l.result(w.call("Where", {holds, rows, w.number(0)}))};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::one_hot& k) {
  writer& w = l.out;
  // OneHot counts negative numbers from the end. Therefore they are first replaced by `count`,
  // which selects no class.
  const std::string classes = w.use(w.plain(l.x[0]));
  const auto count = static_cast<std::int64_t>(k.count);
  const std::string is_negative = w.call("Less", {classes, w.whole({0}, false)});
  const std::string safe = w.call("Where", {is_negative, w.whole({count}, false), classes});
  const std::string both =
      w.call("Concat",
             {w.call("Unsqueeze", {w.number(k.off_value), w.whole({0})}),
              w.call("Unsqueeze", {w.number(k.on_value), w.whole({0})})},
             [](::onnx::NodeProto& node) { writer::set(node, "axis", std::int64_t{0}); });
  return {l.result(w.call("OneHot", {safe, w.whole({count}, false), both}))};
}

}  // namespace glia::onnx
