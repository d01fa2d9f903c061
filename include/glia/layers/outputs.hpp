#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "glia/layers/parallel.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// One named output of a model with several outputs, and the layer that computes it.
///
/// Example: output{"digit", dense{10}}. See `outputs`.
template <class Layer>
struct output {
  std::string name;  ///< Name of the output. The names of its layers' parameters begin with it.
  Layer layer;       ///< Layer or composition that computes the output.

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("layer", self.layer);
  }

  friend bool operator==(const output&, const output&) = default;
};

template <class Layer>
output(const char*, Layer) -> output<Layer>;
template <class Layer>
output(std::string, Layer) -> output<Layer>;

namespace detail {

/// Runs the layer of a named output. Returns its output as rows (N, O).
template <class Layer>
[[nodiscard]] variable run_output(scope& s, const output<Layer>& part, const variable& x) {
  const scope::name_scope called(s, part.name);
  variable y = s.run(part.layer, x, part.name, scope::no_index);
  s.add_output(part.name, y);
  const shape row{y.shape()[0], sample_of(y.shape()).size()};
  return ops::reshape(std::move(y), row);
}

}  // namespace detail

/// The last layer of a model with several outputs.
///
/// Each output has a name and a layer. All these layers get the same input:
///
///     glia::sequential{glia::dense{64, glia::relu},
///                      glia::outputs{glia::output{"digit", glia::dense{10}},
///                                    glia::output{"slant", glia::dense{1}}}}
///
/// The result is (N, O): each sample has one row with the elements of all outputs, in the order of
/// the arguments. `output_losses` defines a loss for each output, and the function `predict`
/// returns one array for each name. Names of parameters begin with the name of their output:
/// digit.kernel.
///
/// Throws `value_error` if two outputs have the same name.
template <class... Layers>
class outputs {
 public:
  using contains_layers = void;
  static constexpr std::string_view type_name = "outputs";

  static_assert((layer<Layers> && ...) && sizeof...(Layers) > 0,
                "outputs: expected arguments glia::output{name, layer}");

  explicit outputs(output<Layers>... parts) : parts_(std::move(parts)...) {}

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    detail::branch_outputs rows(s);
    std::apply(
        [&](const auto&... part) {
          (rows.add([&] { return detail::run_output(s, part, x); }), ...);
        },
        parts_);
    return std::move(rows).joined(join::concat{1});
  }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [](const auto&... part) {
          std::string result;
          ((result += text(result.empty() ? "" : ", ", part.name, ": ", part.layer.description())),
           ...);
          return "outputs(" + result + ")";
        },
        parts_);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("outputs", self.parts_);
  }

  friend bool operator==(const outputs&, const outputs&) = default;

 private:
  std::tuple<output<Layers>...> parts_;
};

}  // namespace glia
