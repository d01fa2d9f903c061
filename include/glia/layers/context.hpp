#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"

namespace glia {

/// Stores the output of a layer under a name, for the attention of later layers.
///
/// The input and output are those of the layer, whose output must be a sequence (N, T, C). A later
/// `multi_head_attention` with the same name as its `context` attends to this sequence instead of
/// its own input. An encoder and a decoder for translation:
///
///     const glia::context source{"source",
///                                glia::gru{.units = 64, .return_sequences = true}};
///     const glia::sequential decoder{
///         glia::embedding{.input_dim = 1000, .output_dim = 64},
///         glia::multi_head_attention{.num_heads = 4, .key_dim = 16, .use_causal_mask = true},
///         glia::multi_head_attention{.num_heads = 4, .key_dim = 16, .context = "source"},
///         glia::time_distributed{glia::dense{1000}}};
///     glia::inputs{glia::join::branch{1}, glia::input{"source", {20, 8}, source},
///                  glia::input{"target", {25}, decoder}}
///
/// The mask of the sequence is stored, too, so that no step attends to its padding. Names of
/// parameters do not change.
///
/// Throws `value_error` if the name is empty, and `shape_error` if the output is not (N, T, C).
template <class Body>
struct context {
  static_assert(layer<Body>, "context: expected a layer, such as glia::gru{...}, after its name");

  std::string name;  ///< Name by which attention refers to the sequence, not empty.
  Body body;         ///< The layer or composition.

  using contains_layers = void;
  static constexpr std::string_view stored_type = "context";
  static constexpr bool preserves_output_kind = true;

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    s.expect_value(!name.empty(), "context: expected a name, got an empty string");
    variable y = s.run(body, std::move(x), name, scope::no_index);
    s.expect(y.shape().rank() == 3,
             "context: expected a layer whose output is a sequence "
             "(N, T, C), got ",
             batch_text(y.shape()));
    s.store_context(name, y);
    return y;
  }
  [[nodiscard]] std::string description() const {
    return text("context ", name, '(', body.description(), ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("body", self.body);
  }

  friend bool operator==(const context&, const context&) = default;
};

template <class Body>
context(const char*, Body) -> context<Body>;
template <class Body>
context(std::string, Body) -> context<Body>;

}  // namespace glia
