#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

namespace detail {

/// A `model`, which is a description together with parameters.
template <class Layer>
concept made_model = requires(const Layer& l) {
  l.plan();
  l.parameters();
};

}  // namespace detail

/// Runs layers one after another: sequential{dense{400, relu}, dense{10}}.
///
/// The output of each layer is the input of the next. A sequential is a layer itself and can be
/// nested.
template <class... Layers>
class sequential {
 public:
  using contains_layers = void;
  static constexpr std::string_view stored_type = "sequential";
  static constexpr bool preserves_output_kind = true;
  static constexpr bool runs_stepwise = true;

  static_assert(!(detail::made_model<Layers> || ...),
                "sequential: a model is not a layer; write net.description() instead of net, and "
                "then copy_parameters(net, whole) if the new model `whole` shall begin with the "
                "parameters of net");
  static_assert(
      (layer<Layers> && ...),
      "sequential: every argument must be a layer, such as glia::dense{10}, glia::relu or a "
      "user-defined type that satisfies the concept glia::layer: copyable, with "
      "`variable operator()(scope&, variable) const` and `std::string description() const`");

  explicit constexpr sequential(Layers... layers) : layers_(std::move(layers)...) {}

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((x = s.run(std::get<I>(layers_), std::move(x), "sequential", I)), ...);
    }
    (std::index_sequence_for<Layers...>{});
    return x;
  }

  /// Returns the shape of the model's samples. Exists only if the first layer defines this shape,
  /// as `inputs` does.
  [[nodiscard]] shape sample_shape() const requires
      has_sample_shape<std::tuple_element_t<0, std::tuple<Layers..., void>>> {
    return std::get<0>(layers_).sample_shape();
  }
  /// Returns the number of layers.
  [[nodiscard]] static constexpr std::size_t size() { return sizeof...(Layers); }
  /// Returns the layers as a tuple.
  [[nodiscard]] const std::tuple<Layers...>& layers() const noexcept { return layers_; }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [](const auto&... layers) {
          std::string result;
          ((result += (result.empty() ? "" : ", ") + layers.description()), ...);
          return "sequential(" + result + ")";
        },
        layers_);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("layers", self.layers_);
  }

  friend bool operator==(const sequential&, const sequential&) = default;

 private:
  std::tuple<Layers...> layers_;
};

}  // namespace glia
