#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/graph/graph.hpp"
#include "glia/graph/uses.hpp"
#include "glia/onnx/writing/batch_normalization.hpp"
#include "glia/onnx/writing/lower.hpp"
#include "glia/onnx/writing/projections.hpp"
#include "glia/onnx/writing/recurrence.hpp"
#include "glia/onnx/writing/recurrence_steps.hpp"
#include "glia/onnx/writing/write.hpp"
#include "glia/onnx/writing/writer.hpp"

namespace glia::onnx {

namespace detail {

/// Returns the extents of a value from its shapes in the recordings for 2 and for 3 samples.
[[nodiscard]] inline extents extents_between(const shape& two, const shape& three) {
  extents result;
  for (std::size_t axis = 0; axis < two.rank(); ++axis) {
    const bool same = two[axis] == three[axis];
    require<value_error>(
        same || two[axis] * 3 == three[axis] * 2, "onnx: an axis has the extent ", two[axis],
        " for 2 samples and ", three[axis],
        " for 3; an ONNX file needs a constant extent, or one proportional to the batch size");
    result.push_back(same ? extent{two[axis], false} : extent{two[axis] / 2, true});
  }
  return result;
}

/// Describes an input or output of the file's graph.
inline void describe(::onnx::ValueInfoProto& info, const value& v) {
  info.set_name(v.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(::onnx::TensorProto::FLOAT);
  type.mutable_shape();
  for (const std::size_t place : v.order) {
    const extent& e = v.shape[place];
    auto& axis = *type.mutable_shape()->add_dim();
    if (e == extent{1, true}) {
      axis.set_dim_param("N");
    } else if (!e.of_each_sample) {
      axis.set_dim_value(static_cast<std::int64_t>(e.count));
    }
  }
}

/// Compares numbers by their bytes, so that NaN equals itself.
[[nodiscard]] inline bool same_bytes(double a, double b) {
  return glia::detail::bit_cast<std::uint64_t>(a) == glia::detail::bit_cast<std::uint64_t>(b);
}
using constant_elements = decltype(graph_constant::elements);
[[nodiscard]] inline bool same_bytes(const constant_elements& a, const constant_elements& b) {
  const auto* const reals = std::get_if<std::vector<double>>(&a);
  const auto* const other_reals = std::get_if<std::vector<double>>(&b);
  return reals != nullptr && other_reals != nullptr
             ? std::equal(reals->begin(), reals->end(), other_reals->begin(), other_reals->end(),
                          [](double x, double y) { return same_bytes(x, y); })
             : a == b;
}

}  // namespace detail

GLIA_INLINE void require_same_numbers(const graph& two, const graph& three) {
  const auto fail = [](const std::string& place) {
    throw value_error(
        text("onnx: ", place.empty() ? "the model" : "the layer '" + place + "'",
             place.empty() ? "" : " of the model",
             " computes with numbers that depend on the batch size, which an ONNX file cannot "
             "represent; compute them from each sample or from the parameters"));
  };
  for (std::size_t n = 0; n < two.nodes().size() && n < three.nodes().size(); ++n) {
    const any_kernel& a = two.nodes()[n].kernel;
    const any_kernel& b = three.nodes()[n].kernel;
    const auto* const full = a.as<kernels::full>();
    const bool says_shape =
        &a.type() == &b.type() &&
        (a.as<kernels::reshape>() != nullptr || a.as<kernels::broadcast_to>() != nullptr ||
         a.as<kernels::sum_to>() != nullptr ||
         (full != nullptr && detail::same_bytes(full->value, b.as<kernels::full>()->value)));
    if (a != b && !says_shape) {
      fail(two.place_of(two.nodes()[n]).name);
    }
  }
  for (std::size_t i = 0; i < two.constants().size() && i < three.constants().size(); ++i) {
    if (!detail::same_bytes(two.constants()[i].elements, three.constants()[i].elements)) {
      fail("");
    }
  }
}

GLIA_INLINE void write_graph(const graph& parameter_graph, const graph& two, const graph& three,
                             std::span<const constant> known, bool images_first,
                             ::onnx::GraphProto& file_graph) {
  require<value_error>(
      two.nodes().size() == three.nodes().size() && two.value_count() == three.value_count(),
      "onnx: the model computes differently for different batch sizes, which "
      "an ONNX file cannot represent");
  writer out(file_graph, two.inputs().front().name);
  values file_values(two.value_count());
  const auto extents_for = [&](value_id id) {
    return detail::extents_between(two.spec(id).shape, three.spec(id).shape);
  };
  const auto order_for = [&](value_id id) {
    const std::size_t rank = two.spec(id).shape.rank();
    return images_first && rank == 4 ? channels_first() : plain_order(rank);
  };
  const std::span<const graph_input> samples(two.inputs().data(),
                                             two.inputs().size() - known.size());
  for (const graph_input& input : samples) {
    out.reserve(input.name);
    file_values[input.value] = {input.name, extents_for(input.value), order_for(input.value)};
    detail::describe(*file_graph.add_input(), file_values[input.value]);
  }
  for (const graph_output& output : two.outputs()) {
    out.reserve(output.name);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const value_id id = two.inputs()[samples.size() + i].value;
    require<value_error>(two.spec(id).shape == three.spec(id).shape, "onnx: the constant '",
                         known[i].name,
                         "' depends on the batch size, which an ONNX file cannot represent");
    file_values[id] = writer::constant_value(known[i]);
  }
  std::deque<constant> constants;
  for (const graph_constant& source : two.constants()) {
    const tensor_spec spec = two.spec(source.value);
    constants.push_back({text("constant_", constants.size()), spec.shape, {}, false});
    std::visit(
        [&](const auto& elements) {
          if (spec.type == element::real) {
            constants.back().numbers.assign(elements.begin(), elements.end());
          } else {
            file_values[source.value] = {
                out.whole_numbers(constants.back().name, spec.shape,
                                  integers(elements.begin(), elements.end())),
                extents_for(source.value), plain_order(spec.shape.rank())};
          }
        },
        source.elements);
    if (spec.type == element::real) {
      file_values[source.value] = writer::constant_value(constants.back());
    }
  }

  const detail::projections products(two);
  const batch_normalizations norms(parameter_graph, two);
  for (std::size_t n = 0; n < two.nodes().size(); ++n) {
    if (products.absorbed[n] || norms.absorbed[n]) {
      continue;
    }
    const graph_node& node = two.nodes()[n];
    values operands;
    for (const value_id id : node.operands) {
      operands.push_back(id == no_value ? value{} : file_values[id]);
    }
    std::vector<extents> shapes;
    for (const value_id id : node.results) {
      shapes.push_back(id == no_value ? extents{} : extents_for(id));
    }
    const std::string& place = two.place_of(node).name;
    out.set_place(place);
    const lowering l{out, operands, shapes, place};
    values results;
    const auto layer_of = [&](std::size_t index) {
      const detail::projected& p = products.by_node.at(index);
      const std::vector<value_id>& product = two.nodes()[p.second].operands;
      const std::vector<value_id>& x = two.nodes()[index].operands;
      const auto maybe = [&](value_id id) { return id == no_value ? value{} : file_values[id]; };
      value steps = file_values[two.nodes()[p.first].operands[0]];
      if (p.quantizer) {  // images with one row, as for products
        const value& images = file_values[two.nodes()[*p.quantizer].results[0]];
        steps.name =
            out.call("Reshape", {out.use(out.plain(images)), out.reshape_tensor(steps.shape)});
        steps.order = plain_order(steps.rank());
      }
      return recurrent_layer{*two.nodes()[index].kernel.as<kernels::recurrence>(),
                             steps,
                             file_values[product[1]],
                             maybe(product[2]),
                             file_values[x[1]],
                             maybe(x[2])};
    };
    const auto* const k = node.kernel.as<kernels::recurrence>();
    if (const auto norm = norms.by_node.find(n); norm != norms.by_node.end()) {
      results = lower_batch_normalization(l, norm->second, file_values);
    } else if (k != nullptr && operands[4]) {
      results = lower_steps(l, *k);
    } else if (const auto two_ways = products.directions.find(n);
               two_ways != products.directions.end()) {
      const auto [forwards, backwards] = two_ways->second;
      const std::array both{layer_of(forwards), layer_of(backwards)};
      std::array<value, 2> states = lower_directions(l, both);
      file_values[two.nodes()[forwards].results[0]] = std::move(states[0]);
      file_values[two.nodes()[backwards].results[0]] = std::move(states[1]);
      continue;
    } else if (k != nullptr) {
      require<value_error>(
          products.by_node.contains(n), "onnx: the layer '", place,
          "' has steps that are not a product with its input, which ONNX does not support");
      const recurrent_layer only = layer_of(n);
      results = lower_recurrence(l, std::span(&only, 1));
    } else if (const auto pair = products.pairs.find(n); pair != products.pairs.end()) {
      const std::array both{layer_of(pair->second.first), layer_of(pair->second.second)};
      out.set_place(two.place_of(two.nodes()[pair->second.first]).name);
      results = lower_recurrence(l, both);
    } else {
      results = lower_any(l, node.kernel);
    }
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != no_value) {
        file_values[node.results[i]] = std::move(results[i]);
      }
    }
  }
  out.set_place("");
  for (const graph_output& output : two.outputs()) {
    const axis_order order = order_for(output.value);
    const std::string name = out.use(out.arranged(file_values[output.value], order));
    ::onnx::NodeProto& node = out.node("Identity", {name});
    node.add_output(output.name);
    detail::describe(*file_graph.add_output(), {output.name, extents_for(output.value), order});
  }
}

}  // namespace glia::onnx
