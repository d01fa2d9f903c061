#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/layers/identity.hpp"
#include "glia/layers/parallel.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// One named input of a model with several inputs, and the layer that processes it.
///
/// Example: input{"image", {28, 28}, flatten{}}. See `inputs`.
template <class Layer>
struct input {
  std::string name;   ///< Name of the input. The names of its layers' parameters begin with it.
  glia::shape shape;  ///< Shape of the input without the batch axis.
  Layer layer;        ///< Layer or composition that processes the input.

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("shape", self.shape);
    visit("layer", self.layer);
  }

  friend bool operator==(const input&, const input&) = default;
};
/// One named input without a layer: input{"age", {1}}.
template <>
struct input<identity> {
  std::string name;   ///< Name of the input.
  glia::shape shape;  ///< Shape of the input without the batch axis.
  identity layer{};   ///< Leaves the input unchanged.

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("shape", self.shape);
    visit("layer", self.layer);
  }

  friend bool operator==(const input&, const input&) = default;
};

input(const char*, shape)->input<identity>;
input(std::string, shape)->input<identity>;
template <class Layer>
input(const char*, shape, Layer) -> input<Layer>;
template <class Layer>
input(std::string, shape, Layer) -> input<Layer>;

namespace detail {

/// Throws `shape_error` unless x is a batch of rows that hold all inputs.
inline void expect_rows(const scope& s, const variable& x, const shape& sample) {
  s.expect(sample_of(x.shape()) == sample, "expected rows ", batch_text(batch_of(1, sample)),
           " that hold all inputs, got ", batch_text(x.shape()), "; named_arrays makes such rows");
}

/// Runs the layer of a named input on its part (N, I) of the samples.
template <class Layer>
[[nodiscard]] variable run_input(scope& s, const input<Layer>& part, const variable& row) {
  const shape extents = batch_of(row.shape()[0], part.shape);
  const scope::name_scope called(s, part.name);
  variable x = ops::reshape(row, extents);
  s.add_input(part.name, x);
  return s.run(part.layer, std::move(x), part.name, scope::no_index);
}

}  // namespace detail

/// The first layer of a model with several inputs.
///
/// Each input has a name, a shape and a layer. By default, the outputs of these layers are
/// concatenated along the last axis. To join them in another way, pass a join as the first
/// argument, as in `parallel`. An example with the default:
///
///     const glia::sequential image_layers{glia::flatten{}, glia::dense{64, glia::relu}};
///     const glia::input image{"image", {28, 28}, image_layers};
///     const glia::input age{"age", {1}};
///     const glia::sequential network{glia::inputs{image, age}, glia::dense{10}};
///
/// A batch is (N, I): each sample is one row with the elements of all inputs, in the order of the
/// arguments. `named_arrays` makes these rows. A model that begins with `inputs` needs no sample
/// shape. Names of parameters begin with the name of their input: image.dense_0.kernel.
///
/// Throws `shape_error` if the samples do not have the shape (I) or if the layers' outputs cannot
/// be joined. Throws `value_error` if two inputs have the same name.
template <class Join, class... Layers>
class inputs {
 public:
  using contains_layers = void;
  static constexpr std::string_view type_name = "inputs";

  static_assert(branch_join<Join> && (layer<Layers> && ...) && sizeof...(Layers) > 0,
                "inputs: expected arguments glia::input{name, shape, layer}, and optionally a join "
                "such as glia::join::add{} before them");

  explicit inputs(std::type_identity_t<Join> join, input<Layers>... parts)
      : join_(std::move(join)), parts_(std::move(parts)...) {}
  explicit inputs(input<Layers>... parts) : parts_(std::move(parts)...) {}

  /// Returns the shape of a sample, (I), where I is the number of elements of all inputs.
  [[nodiscard]] shape sample_shape() const {
    return std::apply(
        [](const auto&... part) { return shape{(std::size_t{0} + ... + part.shape.size())}; },
        parts_);
  }

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    detail::expect_rows(s, x, sample_shape());
    std::vector<std::size_t> sizes;
    std::apply([&](const auto&... part) { (sizes.push_back(part.shape.size()), ...); }, parts_);
    const std::vector<variable> rows = ops::split(x, 1, sizes);
    detail::branch_outputs outputs(s);
    std::apply(
        [&](const auto&... part) {
          (outputs.add([&] { return detail::run_input(s, part, rows[outputs.size()]); }), ...);
        },
        parts_);
    return std::move(outputs).joined(join_);
  }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [&](const auto&... part) {
          std::string result = join_.description();
          ((result += text(", ", part.name, ' ', part.shape, ": ", part.layer.description())), ...);
          return "inputs(" + result + ")";
        },
        parts_);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("join", self.join_);
    visit("inputs", self.parts_);
  }

  friend bool operator==(const inputs&, const inputs&) = default;

 private:
  Join join_{};
  std::tuple<input<Layers>...> parts_;
};

template <class... Layers>
inputs(input<Layers>...) -> inputs<join::concat, Layers...>;
template <branch_join Join, class... Layers>
inputs(Join, input<Layers>...) -> inputs<Join, Layers...>;

}  // namespace glia
