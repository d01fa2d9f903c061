#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/graph/graph.hpp"
#include "glia/kernels/kernels.hpp"
#include "glia/stablehlo/arrangement.hpp"
#include "glia/stablehlo/classification.hpp"
#include "glia/stablehlo/elementwise.hpp"
#include "glia/stablehlo/pooling.hpp"
#include "glia/stablehlo/products.hpp"
#include "glia/stablehlo/random.hpp"
#include "glia/stablehlo/updates.hpp"
#include "glia/stablehlo/writer.hpp"

namespace glia::stablehlo {

/// Options of `module_text`.
struct module_options {
  scalar real = scalar::f32;
  /// Precision of products: HIGHEST, or DEFAULT, which is the fastest of the device.
  std::string precision = "HIGHEST";
  /// Whether the device has native 64-bit integers; TPUs do not.
  bool wide_integers = false;
  /// Number of devices. Inputs with one row for each sample are split among them if the rows can be
  /// divided equally; all other tensors are complete on each device.
  std::size_t devices = 1;
};

/// Returns whether an input is split among devices.
[[nodiscard]] inline bool is_split(const graph& calls, const graph_input& input,
                                   std::size_t devices) {
  const shape s = calls.spec(input.value).shape;
  return devices > 1 && input.of_samples && s.rank() > 0 && s[0] > 0 && s[0] % devices == 0;
}

[[nodiscard]] constexpr scalar scalar_of(element type, scalar real) noexcept {
  return type == element::index ? scalar::i32 : type == element::byte ? scalar::u8 : real;
}

namespace detail {

/// Returns the attribute that tells XLA how an argument or result is split; empty for a single
/// device.
[[nodiscard]] inline std::string sharding_text(bool split, std::size_t rank, std::size_t devices) {
  if (devices == 1) {
    return "";
  }
  std::string tiles = text('[', devices);
  for (std::size_t axis = 1; axis < rank; ++axis) {
    tiles += ",1";
  }
  const std::string sharding =
      split ? text("{devices=", tiles, "]<=[", devices, "]}") : "{replicated}";
  return text("mhlo.sharding = \"", sharding, '"');
}

[[nodiscard]] inline values lower_any(const lowering& l, const any_kernel& kernel,
                                      operand_list operands) {
  values results;
  const bool known = visit_kernel(kernel, basic_kernels{},
                                  [&](const auto& k) { results = lower(l, k, operands); });
  require<value_error>(
      known, "stablehlo: the kernel '", kernel.name(),
      "' cannot be written as StableHLO operations; compose it of other kernels, or run it on a "
      "backend in host memory");
  return results;
}

}  // namespace detail

/// Returns a graph as the text of a StableHLO module with one function, main. Its arguments are the
/// graph's inputs. Its first results are the next values of the inputs that change, in the order of
/// the inputs. Each next value may overwrite its input. The graph's outputs follow.
///
/// Throws `value_error`, with the kernel's name, for a kernel that cannot be written.
[[nodiscard]] inline std::string module_text(const graph& calls,
                                             const module_options& options = {}) {
  std::vector<value> known(calls.value_count());
  writer body;
  const lowering context{body, options.real, options.precision, options.wide_integers};
  std::string arguments;
  std::vector<value_id> results;
  for (const graph_input& input : calls.inputs()) {
    const tensor_spec spec = calls.spec(input.value);
    const value v = body.argument(spec.shape, scalar_of(spec.type, options.real));
    known[input.value] = v;
    arguments += text(arguments.empty() ? "" : ", ", '%', v.id, ": ", type_text(v));
    std::string attributes = detail::sharding_text(is_split(calls, input, options.devices),
                                                   spec.shape.rank(), options.devices);
    if (input.changes()) {
      attributes +=
          text(attributes.empty() ? "" : ", ", "tf.aliasing_output = ", results.size(), " : i32");
      results.push_back(input.next);
    }
    arguments += attributes.empty() ? "" : text(" {", attributes, '}');
  }
  for (const graph_output& output : calls.outputs()) {
    results.push_back(output.value);
  }
  for (const graph_constant& constant : calls.constants()) {
    const tensor_spec spec = calls.spec(constant.value);
    const scalar type = scalar_of(spec.type, options.real);
    known[constant.value] = std::visit(
        [&](const auto& elements) { return body.elements(std::span(elements), spec.shape, type); },
        constant.elements);
  }
  for (const graph_node& node : calls.nodes()) {
    values operands;
    for (const value_id id : node.operands) {
      operands.push_back(id == no_value ? value{} : known[id]);
    }
    const values node_results = detail::lower_any(context, node.kernel, operands);
    for (std::size_t i = 0; i < node.results.size(); ++i) {
      if (node.results[i] != no_value) {
        known[node.results[i]] = node_results[i];
      }
    }
  }
  std::string returned;
  std::string types;
  std::string described;
  const std::string everywhere = detail::sharding_text(false, 0, options.devices);
  for (const value_id id : results) {
    const std::string type = type_text(known[id]);
    returned += text(returned.empty() ? "%" : ", %", known[id].id);
    types += (types.empty() ? "" : ", ") + type;
    described += (described.empty() ? "" : ", ") + type +
                 (everywhere.empty() ? "" : " {" + everywhere + '}');
  }
  const std::string attributes =
      options.devices == 1
          ? ""
          : text(" attributes {mhlo.num_partitions = ", options.devices, " : i32}");
  return text("module @glia", attributes, " {\n  func.func public @main(", arguments, ") -> (",
              described, ") {\n", body.text(), "    \"func.return\"(", returned, ") : (", types,
              ") -> ()\n  }\n}\n");
}

}  // namespace glia::stablehlo
