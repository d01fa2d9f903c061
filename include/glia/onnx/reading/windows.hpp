#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/convolution.hpp"
#include "glia/kernels/pooling.hpp"
#include "glia/onnx/reading/parts.hpp"

// Convolutions and pooling. Images are (N, C, H, W) in the file and (N, H, W, C) in glia. Sequences
// (N, C, W) are treated as images with one row.
namespace glia::onnx::reading {

/// Images with two spatial axes. Sequences become images with one row.
struct images {
  value_id x;  ///< Images (N, H, W, C).
  bool one_row;
};
/// Converts a tensor (N, C, H, W) or (N, C, W) to images.
[[nodiscard]] inline images images_of(graph_builder& out, const tensor& x) {
  if (x.rank() == 4) {
    return {out.stored_as(x, {0, 2, 3, 1}), false};
  }
  const value_id steps = out.stored_as(x, {0, 2, 1});
  return {out.reshape(steps, shape_of({x.extents[0], 1, x.extents[2], x.extents[1]})), true};
}
/// Converts images to a tensor with the axes of the file.
[[nodiscard]] inline tensor from_images(graph_builder& out, value_id y, bool one_row) {
  if (!one_row) {
    return out.computed(y, {0, 2, 3, 1});
  }
  const shape s = out.shape_of_value(y);
  return out.computed(out.reshape(y, {s[0], s[2], s[3]}), {0, 2, 1});
}

/// The attributes of a node's window, along one axis.
struct window_axis {
  std::size_t size = 1;
  std::size_t stride = 1;
  std::size_t dilation = 1;
  std::size_t pad_begin = 0;
  std::size_t pad_end = 0;

  [[nodiscard]] std::size_t reach() const { return (size - 1) * dilation + 1; }
};
struct windows {
  window_axis rows;
  window_axis columns;

  [[nodiscard]] window2d window() const {
    return {rows.size,        columns.size,   rows.stride,  columns.stride,    rows.dilation,
            columns.dilation, rows.pad_begin, rows.pad_end, columns.pad_begin, columns.pad_end};
  }
};

/// Returns the windows of a node over images (N, C, H, W) or (N, C, W). `size` is the window size
/// if the attributes do not contain it.
[[nodiscard]] inline windows windows_of(const operation& n, const tensor& x, const dims& size) {
  const std::size_t axes = x.rank() - 2;
  require<data_error>(size.size() == axes, "has a window with ", size.size(),
                      " axes for the input shape ", words(x.extents));
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  const auto numbers_for = [&](std::string_view name, std::int64_t otherwise, std::size_t count) {
    auto values = n.integers(name).value_or(std::vector<std::int64_t>(count, otherwise));
    require<data_error>(values.size() == count, "has ", values.size(), " numbers in '", name,
                        "'; expected ", count);
    for (const std::int64_t number : values) {
      require<data_error>(number >= 0 && number < limit && (number > 0 || name == "pads"),
                          "has the unsupported number ", number, " in '", name, "'");
    }
    return values;
  };
  const auto strides = numbers_for("strides", 1, axes);
  const auto dilations = numbers_for("dilations", 1, axes);
  const auto pads = numbers_for("pads", 0, 2 * axes);
  const std::string automatic = n.word("auto_pad", "NOTSET");
  windows result;
  for (std::size_t i = 0; i < axes; ++i) {
    window_axis& w = axes == 1 || i == 1 ? result.columns : result.rows;
    require<data_error>(size[i] > 0 && size[i] < static_cast<std::size_t>(limit),
                        "has the unsupported window size ", size[i]);
    w = {size[i], static_cast<std::size_t>(strides[i]), static_cast<std::size_t>(dilations[i]),
         static_cast<std::size_t>(pads[i]), static_cast<std::size_t>(pads[i + axes])};
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      const std::size_t extent = x.extents[2 + i];
      const std::size_t steps = (extent + w.stride - 1) / w.stride;
      const std::size_t covered = extent == 0 ? 0 : (steps - 1) * w.stride + w.reach();
      const std::size_t missing = covered - std::min(covered, extent);
      w.pad_begin = automatic == "SAME_UPPER" ? missing / 2 : missing - missing / 2;
      w.pad_end = missing - w.pad_begin;
    } else if (automatic == "VALID") {
      w.pad_begin = w.pad_end = 0;
    } else {
      require<data_error>(automatic == "NOTSET", "has the unsupported auto_pad '", automatic, "'");
    }
  }
  return result;
}

/// Converts weights (O, C / groups, H, W) or (O, C / groups, W) to glia's layout, (H, W, C /
/// groups, O). A transposed convolution is the gradient of a convolution; its weights become the
/// weights of this convolution.
[[nodiscard]] inline value_id convolution_weights(graph_builder& out, const tensor& w) {
  if (w.rank() == 4) {
    return out.stored_as(w, {2, 3, 1, 0});
  }
  const value_id kernel = out.stored_as(w, {2, 1, 0});
  return out.reshape(kernel, shape_of({1, w.extents[2], w.extents[1], w.extents[0]}));
}

/// Throws `data_error` unless images and weights have the same number of spatial axes, one or two.
inline void require_alike(const tensor& x, const tensor& w) {
  require<data_error>(
      w.rank() == x.rank() && (w.rank() == 3 || w.rank() == 4),
      "expected images (N, C, H, W) or (N, C, W) and weights with the same number of axes, got ",
      words(x.extents), " and ", words(w.extents), "; glia supports windows with one or two axes");
}

inline void convolution(operation& n) {
  const tensor& x = n.operand(0);
  const tensor& w = n.operand(1);
  require_alike(x, w);
  const auto kernel_shape = n.integers("kernel_shape");
  const windows geometry = windows_of(
      n, x, kernel_shape ? dims_from(*kernel_shape) : dims(w.extents.begin() + 2, w.extents.end()));
  const images input = images_of(n.out, x);
  const std::int64_t groups = n.integer("group", 1);
  require<data_error>(groups > 0, "has ", groups, " groups; expected at least 1");
  const value_id weights = convolution_weights(n.out, w);
  const value_id bias = n.has(2) ? n.out.plain(n.x[2]) : no_value;
  const value_id y =
      n.out.call(kernels::conv2d{geometry.window(), static_cast<std::size_t>(groups)},
                 {input.x, weights, bias});
  n.give(from_images(n.out, y, input.one_row));
}

inline void transposed_convolution(operation& n) {
  const tensor& x = n.operand(0);
  const tensor& w = n.operand(1);
  require_alike(x, w);
  const std::size_t axes = x.rank() - 2;
  const auto groups = static_cast<std::size_t>(std::max<std::int64_t>(n.integer("group", 1), 0));
  require<data_error>(groups > 0 && x.extents[1] % groups == 0 && w.extents[0] == x.extents[1],
                      "has ", groups, " groups for the input ", words(x.extents),
                      " and the weights ", words(w.extents));
  const dims size(w.extents.begin() + 2, w.extents.end());
  windows geometry = windows_of(n, x, size);
  const auto output_padding =
      n.integers("output_padding").value_or(std::vector<std::int64_t>(axes, 0));
  const auto output_shape = n.integers("output_shape");
  const std::string automatic = n.word("auto_pad", "NOTSET");
  require<data_error>(
      output_padding.size() == axes && (!output_shape || output_shape->size() == axes),
      "expected one output padding and one output extent for each axis");
  dims image(2, 1);
  for (std::size_t i = 0; i < axes; ++i) {
    window_axis& a = axes == 1 || i == 1 ? geometry.columns : geometry.rows;
    require<data_error>(
        output_padding[i] >= 0 && output_padding[i] < 1 << 20 && x.extents[2 + i] > 0,
        "has the unsupported output padding ", output_padding[i]);
    const std::size_t whole =
        (x.extents[2 + i] - 1) * a.stride + a.reach() + static_cast<std::size_t>(output_padding[i]);
    std::size_t extent = 0;
    if (output_shape || automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      extent = output_shape ? dims_from({(*output_shape)[i]})[0] : x.extents[2 + i] * a.stride;
      const std::size_t cut = whole - std::min(whole, extent);
      require<data_error>(extent < whole + a.stride, "has ", extent,
                          " output positions, but its windows reach only ", whole);
      // This follows opset 11. The text of opset 1 has the opposite formula, but no runtime follows
      // it.
      const bool less_before = automatic == "SAME_UPPER";
      a.pad_begin = less_before ? cut / 2 : cut - cut / 2;
      a.pad_end = cut - a.pad_begin;
    } else {
      require<data_error>(whole > a.pad_begin + a.pad_end, "has pads that remove all of its ",
                          whole, " output positions");
      extent = whole - a.pad_begin - a.pad_end;
    }
    // This node is the gradient of a convolution over the image. The last position of this
    // convolution must be the last element of x.
    image[2 - axes + i] = extent;
  }
  const images input = images_of(n.out, x);
  const std::size_t inputs = x.extents[1] / groups;
  const std::size_t outputs = w.extents[1];
  std::vector<value_id> parts;
  for (std::size_t g = 0; g < groups; ++g) {
    const value_id of_group = n.out.slice(input.x, 3, g * inputs, inputs);
    const tensor weights = groups == 1 ? w : part(n.out, in_graph(n.out, w), 0, g * inputs, inputs);
    parts.push_back(n.out.call(
        kernels::conv2d_input_gradient{geometry.window(), 1, {image[0], image[1], outputs}},
        {of_group, convolution_weights(n.out, weights)}));
  }
  value_id y = n.out.concat(std::move(parts), 3);
  if (n.has(2)) {
    y = n.out.add(y, n.out.plain(n.x[2]));
  }
  n.give(from_images(n.out, y, input.one_row));
}

/// Rounds the number of steps up. If the last window then exceeds the input, adds padding.
inline void round_up(windows& geometry, const tensor& x) {
  const auto add_padding = [](window_axis& w, std::size_t extent) {
    const std::size_t whole = extent + w.pad_begin + w.pad_end;
    require<data_error>(whole >= w.reach(), "has a window that covers ", w.reach(),
                        " positions, but the padded input has only ", whole, " positions");
    std::size_t steps = (whole - w.reach() + w.stride - 1) / w.stride + 1;
    if ((steps - 1) * w.stride >= extent + w.pad_begin) {  // it would cover only padding
      --steps;
    }
    w.pad_end += std::max((steps - 1) * w.stride + w.reach(), whole) - whole;
  };
  add_padding(geometry.columns, x.extents.back());
  if (x.rank() == 4) {
    add_padding(geometry.rows, x.extents[2]);
  }
}

[[nodiscard]] inline windows pool_windows(const operation& n, const tensor& x) {
  require<data_error>(x.rank() == 3 || x.rank() == 4,
                      "expected images (N, C, H, W) or (N, C, W), got ", words(x.extents),
                      "; glia supports windows with one or two axes");
  const auto size = n.integers("kernel_shape");
  require<data_error>(size.has_value(), "does not have the attribute kernel_shape");
  return windows_of(n, x, dims_from(*size));
}

inline void max_pool(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  windows geometry = pool_windows(n, x);
  require<data_error>(!n.wants(1),
                      "returns the indices of the largest elements, which glia does not support");
  if (n.integer("ceil_mode", 0) != 0) {
    round_up(geometry, x);
  }
  const images input = images_of(n.out, x);
  n.give(from_images(n.out, n.out.call(kernels::max_pool2d{geometry.window()}, {input.x}),
                     input.one_row));
}

inline void average_pool(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  windows geometry = pool_windows(n, x);
  const windows original = geometry;
  if (n.integer("ceil_mode", 0) != 0) {
    round_up(geometry, x);
  }
  images input = images_of(n.out, x);
  if (n.integer("count_include_pad", 0) != 0) {
    // Padding that the file states counts in the mean. Padding that was added by rounding up does
    // not.
    for (const std::size_t axis : {1U, 2U}) {
      window_axis& w = axis == 1 ? geometry.rows : geometry.columns;
      const window_axis& original_axis = axis == 1 ? original.rows : original.columns;
      if (original_axis.pad_begin + original_axis.pad_end > 0) {
        input.x = n.out.call(kernels::pad{axis, original_axis.pad_begin, original_axis.pad_end, 0},
                             {input.x});
      }
      w.pad_begin -= original_axis.pad_begin;
      w.pad_end -= original_axis.pad_end;
    }
  }
  n.give(from_images(n.out, n.out.call(kernels::avg_pool2d{geometry.window()}, {input.x}),
                     input.one_row));
}

}  // namespace glia::onnx::reading
