#pragma once

// The operations that sum products: dot_general and convolution.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "glia/stablehlo/writer.hpp"

namespace glia::stablehlo {

/// Returns the product of a and b, summed over the axes `axes_a` of a and `axes_b` of b. The
/// leading `batch` axes are the same for both. The result has the batch axes, then the other axes
/// of a, then the other axes of b.
[[nodiscard]] inline value dot(writer& w, const value& a, const value& b, const numbers& axes_a,
                               const numbers& axes_b, std::size_t batch,
                               std::string_view precision) {
  shape s;
  numbers leading;
  for (std::size_t i = 0; i < batch; ++i) {
    leading.push_back(static_cast<std::int64_t>(i));
    s.push_back(a.shape[i]);
  }
  const auto add_others = [&](const value& x, const numbers& axes) {
    for (std::size_t i = batch; i < x.shape.rank(); ++i) {
      if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) {
        s.push_back(x.shape[i]);
      }
    }
  };
  add_others(a, axes_a);
  add_others(b, axes_b);
  const std::string batching = batch == 0 ? ""
                                          : "lhs_batching_dimensions = [" + list_text(leading) +
                                                "], rhs_batching_dimensions = [" +
                                                list_text(leading) + "], ";
  return w.call("dot_general", {a, b},
                "dot_dimension_numbers = #stablehlo.dot<" + batching +
                    "lhs_contracting_dimensions = [" + list_text(axes_a) +
                    "], rhs_contracting_dimensions = [" + list_text(axes_b) + "]>, " +
                    precision_text(precision),
                s, a.type);
}

/// The attributes of a convolution over two axes.
struct convolution_rule {
  std::string_view axes;  ///< [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
  numbers stride{1, 1};
  numbers padding{0, 0, 0, 0};  ///< before and after, for the first axis and the second
  numbers input_dilation{1, 1};
  numbers window_dilation{1, 1};
  bool reversed = false;
  std::size_t feature_groups = 1;
  std::size_t batch_groups = 1;
};

/// Returns the convolution of x with a kernel. `s` is the shape of the result.
[[nodiscard]] inline value convolution(writer& w, const value& x, const value& kernel,
                                       const convolution_rule& rule, const shape& s,
                                       std::string_view precision) {
  const numbers& p = rule.padding;
  const std::string reversal = rule.reversed ? "true, true" : "false, false";
  return w.call("convolution", {x, kernel},
                "window_strides = " + array_text(rule.stride) + ", padding = dense<[[" +
                    list_text(std::span(p).first(2)) + "], [" + list_text(std::span(p).last(2)) +
                    "]]> : tensor<2x2xi64>, lhs_dilation = " + array_text(rule.input_dilation) +
                    ", rhs_dilation = " + array_text(rule.window_dilation) +
                    ", window_reversal = array<i1: " + reversal +
                    ">, dimension_numbers = #stablehlo.conv<" + std::string(rule.axes) +
                    ">, feature_group_count = " + std::to_string(rule.feature_groups) +
                    " : i64, batch_group_count = " + std::to_string(rule.batch_groups) +
                    " : i64, " + precision_text(precision),
                s, x.type);
}

}  // namespace glia::stablehlo
