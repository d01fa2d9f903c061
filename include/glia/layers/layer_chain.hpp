#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "glia/layers/scope.hpp"
#include "glia/ops/convolution_chain.hpp"

namespace glia {

/// A layer whose work may wait for that of those behind it; see `layer_chain`. Layers say so in a
/// static member `starts_chain`.
template <class Layer>
concept chain_start = requires {
  requires Layer::starts_chain;
};

/// Runs layers one after the other, each at once.
template <backend B>
class plain_chain {
 public:
  plain_chain(scope<B>& s, variable<B> x) : scope_(&s), x_(std::move(x)) {}

  /// Runs a layer that a holder of the given name holds at position `index`.
  template <class Layer>
  void run(const Layer& layer, std::string_view holder, std::size_t index) {
    x_ = scope_->run(layer, std::move(x_), holder, index);
  }
  /// What the last layer gave.
  [[nodiscard]] variable<B> result() && { return std::move(x_); }

 private:
  scope<B>* scope_;
  variable<B> x_;
};

/// Runs layers one after the other; what combinators that hold a sequence of layers are made of.
///
/// In inference, on backends that have several convolutions in one, a layer may join those before
/// it instead of running: it says so with a member function `join(scope, pending)`, which returns
/// whether it did. So a batch normalisation becomes part of the convolution before it, and
/// convolutions that follow each other become one.
template <backend B>
class layer_chain {
 public:
  layer_chain(scope<B>& s, variable<B> x) : scope_(&s), pending_(std::move(x)) {}

  /// Runs a layer that a holder of the given name holds at position `index`.
  template <class Layer>
  void run(const Layer& layer, std::string_view holder, std::size_t index) {
    if constexpr (runs<B, kernels::conv2d_chain> && requires { layer.join(*scope_, pending_); }) {
      if (!scope_->training() && layer.join(*scope_, pending_)) {
        return;
      }
    }
    pending_ = ops::pending_convolutions<B>(
        scope_->run(layer, std::move(pending_).value(), holder, index));
  }

  /// What the last layer gave, computed now; layers that follow may join it no more.
  [[nodiscard]] variable<B> settle() {
    variable<B> x = std::move(pending_).value();
    pending_ = ops::pending_convolutions<B>(x);
    return x;
  }

  /// Adds a shortcut's end to what the last layer gave.
  void add(const variable<B>& shortcut) {
    pending_ = ops::pending_convolutions<B>(std::move(pending_).value() + shortcut);
  }

  /// What the last layer gave.
  [[nodiscard]] variable<B> result() && { return std::move(pending_).value(); }

 private:
  scope<B>* scope_;
  ops::pending_convolutions<B> pending_;
};

}  // namespace glia
