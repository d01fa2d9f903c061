#pragma once

#include <cstddef>
#include <string>
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

/// One input of a model that has several: its name, the shape of one sample's, and the layer that
/// it goes through.
template <class Layer>
struct input {
  std::string name;
  shape sample;
  Layer layer;

  friend bool operator==(const input&, const input&) = default;
};
/// One that goes through none.
template <>
struct input<identity> {
  std::string name;
  shape sample;
  identity layer{};

  friend bool operator==(const input&, const input&) = default;
};

input(const char*, shape)->input<identity>;
input(std::string, shape)->input<identity>;
template <class Layer>
input(const char*, shape, Layer) -> input<Layer>;
template <class Layer>
input(std::string, shape, Layer) -> input<Layer>;

/// What a model of several inputs begins with. Each goes through a layer of its own, and what these
/// give is joined as by `parallel`, one behind the other unless another way is said first:
///
///     const glia::sequential of_image{glia::flatten{}, glia::dense{64, glia::relu}};
///     const glia::input image{"image", {28, 28}, of_image};
///     const glia::input age{"age", {1}};
///     glia::sequential{glia::inputs{image, age}, glia::dense{10}}
///
/// A sample is one row (N, I) that holds the inputs one behind the other; models are made without
/// saying its shape, and `named_arrays` makes such rows. The parameters of an input's layers are
/// called by its name: image.dense_0.kernel.
///
/// Throws `shape_error` for samples that are not such rows and where what the layers give cannot be
/// joined, `value_error` for two inputs of one name.
template <class Join, class... Layers>
class inputs {
 public:
  using holds_layers = void;

  static_assert(branch_join<Join> && (layer<Layers> && ...) && sizeof...(Layers) > 0,
                "inputs: expected glia::input{name, shape, layer}, and before them perhaps what "
                "joins them, such as glia::join::add{}");

  explicit inputs(std::type_identity_t<Join> join, input<Layers>... parts)
      : join_(std::move(join)), parts_(std::move(parts)...) {}
  explicit inputs(input<Layers>... parts) : parts_(std::move(parts)...) {}

  /// The shape of a row.
  [[nodiscard]] shape sample_shape() const {
    return std::apply(
        [](const auto&... part) { return shape{(std::size_t{0} + ... + part.sample.size())}; },
        parts_);
  }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    s.expect(sample_of(x.shape()) == sample_shape(), "the inputs make rows ",
             batch_text(batch_of(1, sample_shape())), ", got ", batch_text(x.shape()));
    std::vector<std::size_t> sizes;
    std::apply([&](const auto&... part) { (sizes.push_back(part.sample.size()), ...); }, parts_);
    const std::vector<variable<B>> rows = ops::split(x, 1, sizes);
    detail::branch_outputs<B> outputs(s);
    std::apply(
        [&](const auto&... part) {
          (outputs.add([&] { return run_one(s, part, rows[outputs.size()]); }), ...);
        },
        parts_);
    return std::move(outputs).joined(join_);
  }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [&](const auto&... part) {
          std::string result = join_.description();
          ((result += text(", ", part.name, ' ', part.sample, ": ", part.layer.description())),
           ...);
          return "inputs(" + result + ")";
        },
        parts_);
  }

  friend bool operator==(const inputs&, const inputs&) = default;

 private:
  template <backend B, class Layer>
  [[nodiscard]] static variable<B> run_one(scope<B>& s, const input<Layer>& part,
                                           const variable<B>& row) {
    const shape in = batch_of(row.shape()[0], part.sample);
    const typename scope<B>::under_name called(s, part.name);
    s.add_input(part.name, in);
    return s.run(part.layer, ops::reshape(row, in), part.name, scope<B>::no_index);
  }

  Join join_{};
  std::tuple<input<Layers>...> parts_;
};

template <class... Layers>
inputs(input<Layers>...) -> inputs<join::concat, Layers...>;
template <branch_join Join, class... Layers>
inputs(Join, input<Layers>...) -> inputs<Join, Layers...>;

}  // namespace glia
