#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "glia/layers/parallel.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/reductions.hpp"

namespace glia {

/// One output of a model that has several: its name, and the layer that makes it.
template <class Layer>
struct output {
  std::string name;
  Layer layer;

  friend bool operator==(const output&, const output&) = default;
};

template <class Layer>
output(const char*, Layer) -> output<Layer>;
template <class Layer>
output(std::string, Layer) -> output<Layer>;

/// What a model of several outputs ends in, each made by a layer of its own:
///
///     glia::sequential{glia::dense{64, glia::relu},
///                      glia::outputs{glia::output{"digit", glia::dense{10}},
///                                    glia::output{"slant", glia::dense{1}}}}
///
/// They come as one row (N, O), one behind the other; `output_losses` gives each a loss, and
/// `predict` takes them apart by name. The parameters of an output's layers are called by its
/// name: digit.kernel.
///
/// Throws `value_error` for two outputs of one name.
template <class... Layers>
class outputs {
 public:
  using holds_layers = void;

  static_assert((layer<Layers> && ...) && sizeof...(Layers) > 0,
                "outputs: expected glia::output{name, layer}");

  explicit outputs(output<Layers>... parts) : parts_(std::move(parts)...) {}

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    detail::branch_outputs<B> rows(s);
    std::apply([&](const auto&... part) { (rows.add([&] { return run_one(s, part, x); }), ...); },
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

  friend bool operator==(const outputs&, const outputs&) = default;

 private:
  template <backend B, class Layer>
  [[nodiscard]] static variable<B> run_one(scope<B>& s, const output<Layer>& part,
                                           const variable<B>& x) {
    const typename scope<B>::under_name called(s, part.name);
    variable<B> y = s.run(part.layer, x, part.name, scope<B>::no_index);
    s.add_output(part.name, y.shape());
    const shape row{y.shape()[0], sample_of(y.shape()).size()};
    return ops::reshape(std::move(y), row);
  }

  std::tuple<output<Layers>...> parts_;
};

}  // namespace glia
