#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "glia/ops/elementwise.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/tape.hpp"

namespace glia::ops {

/// A variable and convolutions that are still to be applied to it. They wait for what may be folded
/// into them, and for each other: on a backend that has several convolutions in one, and where no
/// gradient is wanted, `value` runs them as one. Elsewhere it is `conv2d` for one after the other.
template <backend B>
class pending_convolutions {
 public:
  explicit pending_convolutions(variable<B> x) : x_(std::move(x)), shape_(x_.shape()) {}

  /// Of the value.
  [[nodiscard]] const glia::shape& shape() const { return shape_; }

  /// Appends a convolution by w (height, width, C / groups, O) and bias (O).
  void add(const variable<B>& w, const std::optional<variable<B>>& bias, const window2d& window,
           std::size_t groups, const unary_map& map) {
    if (count_ == waiting_.size()) {
      run();
    }
    waiting_[count_++] = {w, bias, map, window, groups};
    shape_ = conv2d_rule(shape_, w.shape(), window, groups).output();
  }

  /// Whether a convolution waits whose result is still without a map: those below may follow.
  [[nodiscard]] bool open() const { return count_ > 0 && last().map == identity_map; }

  /// Multiplies the last convolution's outputs by scale (O) and adds shift (O).
  void scale_and_shift(const variable<B>& scale, const variable<B>& shift) {
    last().kernel = *last().kernel * scale;
    last().bias = last().bias ? *last().bias * scale + shift : shift;
  }
  void apply(const unary_map& map) { last().map = map; }

  /// Runs what waits.
  [[nodiscard]] variable<B> value() && {
    run();
    return std::move(x_);
  }

 private:
  struct link {
    std::optional<variable<B>> kernel;
    std::optional<variable<B>> bias;
    unary_map map = identity_map;
    window2d window{};
    std::size_t groups = 1;
  };

  [[nodiscard]] link& last() { return waiting_[count_ - 1]; }
  [[nodiscard]] const link& last() const { return waiting_[count_ - 1]; }

  [[nodiscard]] static bool wants_gradient(const link& l) {
    return l.kernel->needs_gradient() || (l.bias && l.bias->needs_gradient());
  }

  void run() {
    const auto links = std::span(waiting_).first(count_);
    for (std::size_t first = 0; first < count_;) {
      const std::size_t some = chained(links.subspan(first));
      if (some > 1) {
        run_as_one(links.subspan(first, some));
      } else {
        const link& l = links[first];
        x_ = conv2d(x_, *l.kernel, l.bias, l.window, l.groups, l.map);
      }
      first += some;
    }
    std::fill_n(waiting_.begin(), count_, link{});
    count_ = 0;
  }

  /// How many of the links, 1 or more, the backend takes as one.
  [[nodiscard]] std::size_t chained(std::span<const link> links) const {
    std::size_t count = 0;
    if constexpr (runs<B, kernels::conv2d_chain>) {
      glia::shape s = x_.shape();
      for (; count < links.size() && !x_.needs_gradient(); ++count) {
        const link& l = links[count];
        const window_sizes sizes = conv2d_rule(s, l.kernel->shape(), l.window, l.groups);
        if (wants_gradient(l) || !chains(l.map, sizes, count == 0)) {
          break;
        }
        s = sizes.output();
      }
    }
    return std::max<std::size_t>(count, 1);
  }

  void run_as_one(std::span<const link> links) {
    if constexpr (runs<B, kernels::conv2d_chain>) {
      kernels::conv2d_chain chain{links.size()};
      std::array<typename B::tensor, 2 * max_chain> weights;
      for (std::size_t i = 0; i < links.size(); ++i) {
        const link& l = links[i];
        chain.links[i] = {l.window, l.groups, l.map};
        weights[2 * i] = l.kernel->value();
        weights[2 * i + 1] = l.bias ? l.bias->value() : typename B::tensor{};
      }
      tape<B>& owner = x_.owner();
      x_ = owner.constant(std::apply(
          [&](auto&... each) {
            return owner.device().run(chain, std::move(x_).value(), std::move(each)...);
          },
          weights));
    }
  }

  variable<B> x_;
  glia::shape shape_;
  std::array<link, max_chain> waiting_{};
  std::size_t count_ = 0;
};

}  // namespace glia::ops
