#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "glia/kernels/convolution.hpp"
#include "glia/kernels/convolution_chain.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/products.hpp"

namespace glia {

namespace kernels {

/// A range of 8-bit integers, and the integer `zero` that represents the number 0. A number x is
/// stored as min(max(round(x / scale) + zero, minimum), maximum); an integer i represents (i -
/// zero) * scale.
struct byte_range {
  std::int32_t zero = 0;
  std::int32_t minimum = 0;
  std::int32_t maximum = 255;

  friend bool operator==(const byte_range&, const byte_range&) = default;
};

}  // namespace kernels

/// The range of stored weights, symmetric around 0.
inline constexpr kernels::byte_range signed_bytes{0, -127, 127};

namespace kernels {

/// Returns the range in unsigned bytes: 128 is added to signed bytes.
[[nodiscard]] constexpr byte_range without_signs(const byte_range& r) {
  const std::int32_t shift = r.minimum < 0 ? 128 : 0;
  return {r.zero + shift, r.minimum + shift, r.maximum + shift};
}

/// Throws `value_error` if a range fits neither signed nor unsigned bytes, or does not contain its
/// `zero`.
inline void require_bytes(std::string_view caller, const byte_range& r) {
  const std::int32_t lowest = r.minimum < 0 ? -128 : 0;
  require<value_error>(lowest <= r.minimum && r.minimum < r.maximum && r.maximum <= lowest + 255 &&
                           r.minimum <= r.zero && r.zero <= r.maximum,
                       caller, ": expected a range of bytes that contains its zero, got ",
                       r.minimum, " to ", r.maximum, " with the zero ", r.zero);
}

struct quantized_chain;
struct pack_quantized;

/// Rounds x to numbers that 8-bit integers can represent: (min(max(round(x / s) + zero,
/// minimum), maximum) - zero) * s. A number halfway between two integers is rounded to the even
/// one. There is one scale s above 0 for all of x, or one for each index of the last axis. A NaN
/// stays a NaN.
///
/// A backend can compute products and convolutions of the rounded numbers with integers: see
/// `quantized_chain`.
struct fake_quantize {
  byte_range range;

  static constexpr std::string_view name = "fake_quantize";
  static constexpr std::size_t operands = 2;  // x, scales
  static constexpr std::size_t results = 1;
  static constexpr overwrite overwrites[] = {{0, 0}};

  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& scales) const {
    require_elements("fake_quantize", x, element::real);
    require_elements("fake_quantize: scales", scales, element::real);
    require_bytes("fake_quantize", range);
    const bool is_per_channel = x.shape.rank() > 0 && scales.shape == shape{x.shape.back()};
    require<shape_error>(scales.shape == shape{1} || is_per_channel,
                         "fake_quantize: expected one scale (1) or one for each index of the last "
                         "axis of ",
                         x.shape, ", got ", scales.shape);
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec& x, const tensor_spec&) {
    return 5 * detail::count(x.shape);
  }
  [[nodiscard]] static batch_axes<2, 1> axes(const tensor_spec&, const tensor_spec&) {
    return detail::by_rows<fake_quantize>(1);
  }
  friend bool operator==(const fake_quantize&, const fake_quantize&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const fake_quantize&) {
  return {.operands = 0b11};
}
/// Passes the gradient on where x is within the range of the integers; elsewhere it is 0.
template <class Call>
void add_gradients(const fake_quantize& k, Call& call) {
  const auto bound = [&](double integer) {
    return call.run(unary{{unary_function::affine, integer - k.range.zero, 0}}, call.operand(1));
  };
  const auto not_greater = [&](const auto& a, const auto& b) {
    return call.run(unary{{unary_function::affine, -1, 1}},
                    call.run(binary{binary_function::greater}, a, b));
  };
  const auto inside = call.run(binary{binary_function::multiply},
                               not_greater(bound(k.range.minimum - 0.5), call.operand(0)),
                               not_greater(call.operand(0), bound(k.range.maximum + 0.5)));
  call.add(0, call.run(binary{binary_function::multiply}, call.dy(), inside));
}

/// One link of a `quantized_chain`: a convolution, the shape and range of its weights, and the
/// range of its inputs in unsigned bytes. The link can also have a max-pooling after the
/// convolution.
struct quantized_link {
  kernels::conv2d product;
  shape weights;
  byte_range weight_range = signed_bytes;
  byte_range input{};
  window2d pool{};

  [[nodiscard]] bool depthwise() const { return product.groups > 1; }
  [[nodiscard]] bool pools() const { return !(pool == window2d{}); }
  friend bool operator==(const quantized_link&, const quantized_link&) = default;
};

/// The layout of the packed weights of a link. First come the bounds of the results. A block for
/// each 64 outputs follows: the multiplier and the shift of each output as floats, then the weights
/// as bytes, four for the first output, four for the second, and so on.
struct quantized_weights {
  std::size_t outputs;
  std::size_t steps;  ///< number of groups of four weights of each output

  // A multiple of the number of outputs that the widest registers hold.
  static constexpr std::size_t outputs_at_a_time = 64;
  static constexpr std::size_t bounds = 64;

  /// `first` is true for the first link of a chain. It reads an image, in which the columns and
  /// channels of a window's row are adjacent; the other links read the result of the link before.
  explicit quantized_weights(const quantized_link& link, bool first) : outputs(link.weights[3]) {
    const shape& w = link.weights;
    if (link.depthwise()) {
      steps = (w[0] + 3) / 4 * w[1];
    } else {
      steps = w.size() / w[3] / run_length(link, first) * ((run_length(link, first) + 3) / 4);
    }
  }
  [[nodiscard]] static std::size_t run_length(const quantized_link& link, bool first) {
    const bool whole_rows = first && link.product.window.dilation_width == 1;
    return whole_rows ? link.weights[1] * link.weights[2] : link.weights[2];
  }
  [[nodiscard]] std::size_t bytes_each() const { return 2 * sizeof(float) + 4 * steps; }
  [[nodiscard]] std::size_t bytes() const {
    return bounds +
           (outputs + outputs_at_a_time - 1) / outputs_at_a_time * outputs_at_a_time * bytes_each();
  }
  [[nodiscard]] tensor_spec spec() const { return {{bytes()}, element::byte}; }
};

/// The largest number of products of two bytes whose sum always fits 32 bits.
inline constexpr std::size_t max_integer_products =
    (std::size_t{1} << 31) / (std::size_t{255} * 128) - 1;

/// Returns whether `quantized_chain` supports this link. After the first link, there are two more
/// conditions: a window over several channels requires images that almost fit the first-level
/// cache, and padding requires that the byte 0 represents the number 0.
[[nodiscard]] inline bool chains_quantized(const quantized_link& link, const window_sizes& s,
                                           bool first) {
  constexpr std::size_t small_image = 64 << 10;
  constexpr std::size_t at_a_time = quantized_weights::outputs_at_a_time;
  const bool depthwise = s.groups == s.c && s.groups == s.o && s.groups > 1;
  const bool pointwise = s.groups == 1 && s.window == window2d{};
  const std::size_t channels = (s.c + at_a_time - 1) / at_a_time * at_a_time;
  const bool small = s.h * s.w * channels <= small_image;
  return clamps(link.product.map) && (depthwise || s.groups == 1) &&
         s.window.height <= max_window_rows && link.weights.size() > 0 &&
         link.weights.size() / link.weights[3] <= max_integer_products &&
         (first || depthwise || pointwise || small) &&
         (first || !is_padded(s.window) || link.input.zero == 0) && !is_padded(link.pool) &&
         link.pool.height <= max_window_rows;
}

/// Packs the weights w (height, width, C / groups, O) of a link as integers, in the order in which
/// loops read them. Adds the factors that convert sums to results. If `to_bytes` is true, the
/// results are bytes in the range `out`; otherwise they are floating-point numbers. Optional for a
/// backend.
struct pack_quantized {
  quantized_link link;
  bool first = true;
  bool to_bytes = false;
  byte_range out;

  static constexpr std::string_view name = "pack_quantized";
  static constexpr std::size_t operands = 5;  // w, its scales, bias, scale of x, scale of results
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& w, const tensor_spec& scales,
                                   const tensor_spec& bias, const tensor_spec& x_scale,
                                   const tensor_spec& y_scale) const {
    require_same_shape("pack_quantized: weights", link.weights, w.shape);
    require_same_shape("pack_quantized: scales", {link.weights[3]}, scales.shape);
    require_bias("pack_quantized", bias, link.weights[3]);
    require_same_shape("pack_quantized: scale of inputs", {1}, x_scale.shape);
    require<shape_error>(static_cast<bool>(y_scale) == to_bytes,
                         "pack_quantized: expected a scale of the results if they are bytes, and "
                         "no scale otherwise");
    return quantized_weights(link, first).spec();
  }
  [[nodiscard]] static double flops(const tensor_spec&, const tensor_spec&, const tensor_spec&,
                                    const tensor_spec&, const tensor_spec&) {
    return 0;
  }
  [[nodiscard]] static batch_axes<5, 1> axes(const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&, const tensor_spec&,
                                             const tensor_spec&) {
    batch_axes<5, 1> relations;
    relations.operands.fill(batch_axis::shared);
    relations.results.fill(batch_axis::shared);
    return relations;
  }
  friend bool operator==(const pack_quantized&, const pack_quantized&) = default;
};

/// Computes consecutive convolutions with integers. x (N, H, W, C) is converted to bytes, and
/// products of bytes are summed exactly. The sums are converted to bytes for the next convolution
/// or pooling; the chain returns floating-point numbers.
///
/// The operands are x, the scale of x, the scale of the bytes that the last link pools (if it has a
/// pooling), and the result of `pack_quantized` for each link. A NaN becomes the least byte.
/// Optional for a backend; the links must satisfy `chains_quantized`.
struct quantized_chain {
  std::size_t count = 0;
  std::array<quantized_link, max_chain> links{};
  byte_range pooled{};  ///< the range of the bytes that the last link pools

  static constexpr std::string_view name = "quantized_chain";
  static constexpr std::size_t operands = 3 + max_chain;  // x, scale, scale, packed, packed, ...
  static constexpr std::size_t results = 1;

  /// Returns the sizes of each convolution. Throws `value_error` if a convolution cannot be part of
  /// a chain.
  [[nodiscard]] std::array<window_sizes, max_chain> sizes(const shape& x) const {
    require<value_error>(count > 0 && count <= max_chain, "quantized_chain: expected 1 to ",
                         max_chain, " convolutions, got ", count);
    std::array<window_sizes, max_chain> result{};
    shape input = x;
    for (std::size_t i = 0; i < count; ++i) {
      result[i] =
          conv2d_rule(input, links[i].weights, links[i].product.window, links[i].product.groups);
      require<value_error>(chains_quantized(links[i], result[i], i == 0),
                           "quantized_chain: convolution ", i,
                           " cannot be part of a chain; run it separately");
      input = shape_behind(i, result[i]);
    }
    return result;
  }
  /// Returns the shape of the result of link i, after its pooling.
  [[nodiscard]] shape shape_behind(std::size_t i, const window_sizes& product) const {
    return links[i].pools() ? pool_rule(product.output(), links[i].pool).output()
                            : product.output();
  }
  template <class... Packed>
  [[nodiscard]] tensor_spec result(const tensor_spec& x, const tensor_spec& scale,
                                   const tensor_spec& pooled_scale, const Packed&... packed) const {
    require_elements("quantized_chain", x, element::real);
    require_same_shape("quantized_chain: scale", {1}, scale.shape);
    require<shape_error>(static_cast<bool>(pooled_scale) == (count > 0 && links[count - 1].pools()),
                         "quantized_chain: expected a scale of the pooled bytes if the last link "
                         "pools, and no scale otherwise");
    const std::array<tensor_spec, max_chain> specs{packed...};
    for (std::size_t i = 0; i < count; ++i) {
      require<shape_error>(specs[i] == quantized_weights(links[i], i == 0).spec(),
                           "quantized_chain: the packed weights ", i, " belong to another link");
    }
    return real_of(shape_behind(count - 1, sizes(x.shape)[count - 1]));
  }
  template <class... Others>
  [[nodiscard]] double flops(const tensor_spec& x, const Others&...) const {
    double sum = 0;
    for (const window_sizes& s : sizes(x.shape)) {
      sum += s.n == 0 ? 0 : detail::product_flops(s);
    }
    return sum;
  }
  template <class... Specs>
  [[nodiscard]] static batch_axes<operands, 1> axes(const Specs&...) {
    return detail::by_rows<quantized_chain>(2 + max_chain);
  }
  friend bool operator==(const quantized_chain&, const quantized_chain&) = default;
};

}  // namespace kernels

}  // namespace glia
