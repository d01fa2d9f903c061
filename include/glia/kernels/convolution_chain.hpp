#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "glia/kernels/convolution.hpp"
#include "glia/kernels/packing.hpp"

namespace glia {

namespace kernels {

/// The largest number of convolutions in a chain.
inline constexpr std::size_t max_chain = 4;

}  // namespace kernels

/// Returns whether `conv2d_chain` supports this convolution as a link. The activation must satisfy
/// `clamps`. All links after the first must be depthwise or pointwise convolutions.
[[nodiscard]] inline bool chains(const unary_map& map, const kernels::window_sizes& s, bool first) {
  const bool depthwise = s.groups == s.c && s.groups == s.o && s.groups > 1;
  const bool pointwise = s.groups == 1 && s.window == window2d{};
  return kernels::clamps(map) && s.window.height <= kernels::max_window_rows &&
         (first ? s.groups == 1 : depthwise || pointwise);
}

}  // namespace glia

namespace glia::kernels {

/// Computes consecutive convolutions (links), each map(x * w + bias). The operands are x and the
/// weights and bias of each link. In a packed chain, the operand for the weights of a link is the
/// result of `pack_panels`, `rounded` only if the link has one group, and its bias is omitted.
/// Optional for a backend; the links must satisfy `chains`.
struct conv2d_chain {
  std::size_t count = 0;
  std::array<conv2d, max_chain> links{};
  std::array<shape, max_chain> packed{};  ///< weights' shapes before packing; empty if not packed

  [[nodiscard]] bool is_packed() const { return packed[0].rank() > 0; }

  static constexpr std::string_view name = "conv2d_chain";
  static constexpr std::size_t operands = 1 + 2 * max_chain;  // x, w, bias, w, bias, ...
  static constexpr std::size_t results = 1;

  /// Returns the sizes of each convolution. Throws `value_error` if a convolution cannot be part of
  /// a chain.
  template <class... Weights>
  [[nodiscard]] std::array<window_sizes, max_chain> sizes(const tensor_spec& x,
                                                          const Weights&... weights) const {
    require<value_error>(count > 0 && count <= max_chain, "conv2d_chain: expected 1 to ", max_chain,
                         " convolutions, got ", count);
    const std::array<tensor_spec, 2 * max_chain> specs = unpacked({weights...});
    std::array<window_sizes, max_chain> result{};
    tensor_spec input = x;
    for (std::size_t i = 0; i < count; ++i) {
      const tensor_spec out = links[i].result(input, specs[2 * i], specs[2 * i + 1]);
      result[i] = conv2d_rule(input.shape, specs[2 * i].shape, links[i].window, links[i].groups);
      require<value_error>(chains(links[i].map, result[i], i == 0), "conv2d_chain: convolution ", i,
                           " cannot be part of a chain; run it separately");
      input = out;
    }
    return result;
  }
  template <class... Weights>
  [[nodiscard]] tensor_spec result(const tensor_spec& x, const Weights&... weights) const {
    return real_of(sizes(x, weights...)[count - 1].output());
  }
  template <class... Weights>
  [[nodiscard]] double flops(const tensor_spec& x, const Weights&... weights) const {
    const std::array<tensor_spec, 2 * max_chain> specs = unpacked({weights...});
    double sum = 0;
    tensor_spec input = x;
    for (std::size_t i = 0; i < count; ++i) {
      sum += links[i].flops(input, specs[2 * i], specs[2 * i + 1]);
      input = links[i].result(input, specs[2 * i], specs[2 * i + 1]);
    }
    return sum;
  }
  template <class... Specs>
  [[nodiscard]] static batch_axes<operands, 1> axes(const Specs&...) {
    return detail::by_rows<conv2d_chain>(2 * max_chain);
  }
  friend bool operator==(const conv2d_chain&, const conv2d_chain&) = default;

 private:
  /// Returns the specs of the links' weights and biases before packing.
  [[nodiscard]] std::array<tensor_spec, 2 * max_chain> unpacked(
      std::array<tensor_spec, 2 * max_chain> specs) const {
    for (std::size_t i = 0; is_packed() && i < count; ++i) {
      const tensor_spec w = real_of(packed[i]);
      const tensor_spec expected = pack_panels::result(w, {});
      require<shape_error>(specs[2 * i] == expected && !specs[2 * i + 1], "conv2d_chain: expected ",
                           expected.shape, " of packed weights for ", packed[i],
                           " and no bias, got ", specs[2 * i].shape);
      specs[2 * i] = w;
    }
    return specs;
  }
};

}  // namespace glia::kernels
