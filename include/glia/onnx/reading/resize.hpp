#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/onnx/reading/classes.hpp"

// Resizing of images. Along each axis, an output is a weighted sum of inputs: a product with a
// matrix that depends only on the sizes.
namespace glia::onnx::reading {

namespace detail {

/// The parameters of one axis.
struct resized_axis {
  std::size_t input_size = 0;
  std::size_t output_size = 0;
  float scale = 1;
  float roi_begin = 0;
  float roi_end = 1;

  [[nodiscard]] float last() const { return static_cast<float>(input_size) - 1; }
  [[nodiscard]] float last_output() const { return static_cast<float>(output_size) - 1; }
};

/// Returns the input position of output x. It is computed in single precision, as in ONNX Runtime,
/// because the rounding depends on the precision.
using position_rule = float (*)(const resized_axis& a, float x);
using rounding_rule = float (*)(float x);

template <class Rule, std::size_t Count>
[[nodiscard]] Rule rule_of(const std::string& name, const char* action,
                           const std::pair<std::string_view, Rule> (&rules)[Count]) {
  for (const auto& [known, rule] : rules) {
    if (known == name) {
      return rule;
    }
  }
  throw data_error(text(action, " in the unsupported way '", name, "'"));
}

[[nodiscard]] inline position_rule position_rule_of(const std::string& name) {
  using axis = const resized_axis&;
  constexpr std::pair<std::string_view, position_rule> rules[] = {
      {"half_pixel", [](axis a, float x) { return (x + 0.5F) / a.scale - 0.5F; }},
      {"pytorch_half_pixel",
       [](axis a, float x) { return a.output_size > 1 ? (x + 0.5F) / a.scale - 0.5F : 0.0F; }},
      {"half_pixel_symmetric",
       [](axis a, float x) {
         // Uses the extent of the output before it is rounded down.
         const auto input_size = static_cast<float>(a.input_size);
         const float adjustment = static_cast<float>(a.output_size) / (a.scale * input_size);
         const float offset = input_size / 2 * (1 - adjustment);
         return static_cast<float>(offset + (x + 0.5) / a.scale - 0.5);
       }},
      {"align_corners",
       [](axis a, float x) { return a.output_size > 1 ? x * a.last() / a.last_output() : 0.0F; }},
      {"asymmetric", [](axis a, float x) { return x / a.scale; }},
      {"tf_half_pixel_for_nn", [](axis a, float x) { return (x + 0.5F) / a.scale; }},
      {"tf_crop_and_resize",
       [](axis a, float x) {
         return a.output_size > 1 ? a.roi_begin * a.last() +
                                        (x * (a.roi_end - a.roi_begin) * a.last()) / a.last_output()
                                  : 0.5F * (a.roi_begin + a.roi_end) * a.last();
       }},
  };
  return rule_of(name, "finds positions", rules);
}

[[nodiscard]] inline rounding_rule rounding_rule_of(const std::string& name) {
  constexpr std::pair<std::string_view, rounding_rule> rules[] = {
      {"floor", [](float x) { return std::floor(x); }},
      {"ceil", [](float x) { return std::ceil(x); }},
      {"round_prefer_floor", [](float x) { return std::ceil(x - 0.5F); }},
      {"round_prefer_ceil", [](float x) { return std::floor(x + 0.5F); }},
  };
  return rule_of(name, "rounds", rules);
}

/// The options of a resize: how the position of an output in the input is computed, and which
/// inputs contribute to the output.
struct resizing {
  std::string mode = "nearest";
  position_rule position = nullptr;
  rounding_rule rounded = nullptr;
  float cubic = -0.75F;
  bool exclude_outside = false;
  bool smooths = false;  ///< Whether the window grows when an image becomes smaller (antialiasing).

  [[nodiscard]] float position_of(const resized_axis& a, std::size_t output) const {
    return position(a, static_cast<float>(output));
  }
};

/// Returns the weight of an input at this distance from a position: a triangle, or Keys' cubic
/// function, IEEE Transactions on Acoustics, Speech, and Signal Processing 29, 1981.
[[nodiscard]] inline float weight_at(const resizing& options, float distance) {
  const float d = std::abs(distance);
  if (options.mode == "linear") {
    return std::max(0.0F, 1 - d);
  }
  const float a = options.cubic;
  return d <= 1  ? ((a + 2) * d - (a + 3)) * d * d + 1
         : d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
                 : 0;
}

/// Returns the matrix (in, out) of the weights of each output.
[[nodiscard]] inline std::vector<double> matrix_of(const resizing& options, const resized_axis& a) {
  require<data_error>(options.mode == "linear" || options.mode == "cubic",
                      "has the unsupported mode '", options.mode, "'");
  std::vector<double> matrix(a.input_size * a.output_size, 0);
  const float last = a.last();
  const float narrow = options.smooths ? std::min(a.scale, 1.0F) : 1;
  const float reach = (options.mode == "linear" ? 1.0F : 2.0F) / narrow;
  require<data_error>(reach <= static_cast<float>(numbers::max_size), "has the unsupported scale ",
                      a.scale);
  for (std::size_t i = 0; i < a.output_size; ++i) {
    float x = options.position_of(a, i);
    require<data_error>(std::isfinite(x) && std::abs(x) < 1e9F, "has no input position for output ",
                        i);
    if (options.mode == "linear" && narrow == 1) {
      x = std::clamp(x, 0.0F, last);
    }
    const float first = std::floor(x - reach) + 1;
    const auto count = static_cast<std::size_t>(std::ceil(2 * reach)) + 1;
    const auto place = [&](std::size_t k) { return first + static_cast<float>(k); };
    std::vector<float> weights;
    double sum = 0;
    for (std::size_t k = 0; k < count && place(k) < x + reach; ++k) {
      const bool outside = place(k) < 0 || place(k) > last;
      weights.push_back(
          outside && options.exclude_outside ? 0 : weight_at(options, (place(k) - x) * narrow));
      sum += weights.back();
    }
    const bool whole = narrow == 1 && !options.exclude_outside;  // then the sum of the weights is 1
    for (std::size_t k = 0; k < weights.size(); ++k) {
      const auto row = static_cast<std::size_t>(std::clamp(place(k), 0.0F, last));
      matrix[row * a.output_size + i] += whole ? weights[k] : sum == 0 ? 0 : weights[k] / sum;
    }
  }
  return matrix;
}

/// Resizes x along one axis.
[[nodiscard]] inline tensor resized(graph_builder& out, const tensor& x, std::size_t axis,
                                    const resizing& options, const resized_axis& a) {
  require_few({a.input_size, a.output_size});
  if (options.mode == "nearest") {
    std::vector<std::size_t> rows;
    const float last = a.last();
    bool repeats = a.output_size % a.input_size == 0;
    for (std::size_t i = 0; i < a.output_size; ++i) {
      const float position = options.position_of(a, i);
      require<data_error>(std::isfinite(position), "has no input position for output ", i);
      rows.push_back(static_cast<std::size_t>(std::clamp(options.rounded(position), 0.0F, last)));
      repeats = repeats && rows.back() == i / (a.output_size / a.input_size);
    }
    if (repeats) {
      const tensor source = with_own_axis(out, x, axis);
      const std::size_t place = source.axes[axis][0];
      const shape s = shape_of(source.stored);
      const std::size_t outer = shape(s.begin(), s.begin() + place).size();
      const std::size_t inner = shape(s.begin() + place + 1, s.end()).size();
      const std::size_t times = a.output_size / a.input_size;
      tensor y = source;
      y.extents[axis] = y.stored[place] = a.output_size;
      // If the batch axis comes first, it is not joined with other axes.
      const std::size_t first = place > 0 ? s[0] : 1;
      const shape rows_of{first, outer / first * a.input_size, 1, inner};
      const shape repeated_shape{first, outer / first * a.input_size, times, inner};
      y.id = out.reshape(
          out.call(kernels::broadcast_to{repeated_shape}, {out.reshape(source.id, rows_of)}),
          shape_of(y.stored));
      return y;
    }
    return picked(out, x, axis, rows);
  }
  const classes_last rows(out, x, axis);
  shape s = out.shape_of_value(rows.x);
  const value_id matrix = out.constant({a.input_size, a.output_size}, matrix_of(options, a));
  const value_id y = out.call(
      kernels::dense{}, {out.reshape(rows.x, {row_count(s), a.input_size}), matrix, no_value});
  s[s.rank() - 1] = a.output_size;
  return out.computed(out.reshape(y, s), rows.order, x.type);
}

}  // namespace detail

inline void resize(operation& n) {
  tensor x = in_graph(n.out, n.operand(0));
  const bool old = n.node.op_type() == "Upsample" || n.opset < 11;
  detail::resizing options;
  options.mode = n.word("mode", "nearest");
  const std::string coordinates =
      old ? "asymmetric" : n.word("coordinate_transformation_mode", "half_pixel");
  options.position = detail::position_rule_of(coordinates);
  options.rounded =
      detail::rounding_rule_of(old ? "floor" : n.word("nearest_mode", "round_prefer_floor"));
  options.cubic = static_cast<float>(n.real("cubic_coeff_a", -0.75));
  options.exclude_outside = n.integer("exclude_outside", 0) != 0;
  options.smooths = n.integer("antialias", 0) != 0;
  require<data_error>(x.size() > 0, "resizes the shape ", words(x.extents),
                      ", which has no elements");
  const auto listed_axes = n.integers("axes");
  const std::vector<std::size_t> axes =
      listed_axes ? axes_in_order(*listed_axes, x.rank()) : plain_order(x.rank());
  std::vector<double> scales;
  std::optional<std::vector<std::int64_t>> sizes;
  if (n.node.op_type() == "Upsample" && n.opset < 9) {
    scales = n.reals("scales");
  } else {
    const std::size_t i = old ? 1 : 2;
    if (n.has(i) && n.x[i].size() > 0) {
      scales = reals_of(n.known(i));
    }
    if (!old && n.has(3) && n.x[3].size() > 0) {
      sizes = n.known_integers(3);
    }
  }
  require<data_error>((sizes ? sizes->size() : scales.size()) == axes.size(), "has ",
                      sizes ? sizes->size() : scales.size(), " sizes or scales for ", axes.size(),
                      " axes");
  const std::string policy = n.word("keep_aspect_ratio_policy", "stretch");
  std::optional<float> common;  // common scale of all axes
  if (sizes && policy != "stretch") {
    require<data_error>(policy == "not_larger" || policy == "not_smaller",
                        "has the unsupported keep_aspect_ratio_policy '", policy, "'");
    const dims asked = dims_from(*sizes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const float scale = static_cast<float>(asked[i]) / static_cast<float>(x.extents[axes[i]]);
      common = !common                  ? scale
               : policy == "not_larger" ? std::min(*common, scale)
                                        : std::max(*common, scale);
    }
  }
  std::vector<double> roi;
  if (coordinates == "tf_crop_and_resize") {
    roi = reals_of(n.known(1));
    require<data_error>(roi.size() == 2 * axes.size() &&
                            std::all_of(roi.begin(), roi.end(),
                                        [](double number) { return std::isfinite(number); }),
                        "has a region with ", roi.size(), " numbers; expected ", 2 * axes.size(),
                        " finite ones");
  }
  const double outside = n.real("extrapolation_value", 0);
  numbers inside = integer_numbers({1}, {}, truth);
  bool leaves = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = axes[i];
    detail::resized_axis a{x.extents[axis]};
    const auto input_size = static_cast<double>(a.input_size);
    if (sizes) {
      a.output_size = dims_from({(*sizes)[i]})[0];
      a.scale = static_cast<float>(a.output_size) / static_cast<float>(a.input_size);
      if (common) {
        require<data_error>(*common > 0 && input_size * *common < 1e9, "has the unsupported scale ",
                            *common);
        a.scale = *common;
        a.output_size =
            static_cast<std::size_t>(std::round(a.scale * static_cast<float>(a.input_size)));
      }
    } else {
      require<data_error>(scales[i] > 0 && input_size * scales[i] < 1e9,
                          "has the unsupported scale ", scales[i]);
      a.scale = static_cast<float>(scales[i]);
      a.output_size =
          static_cast<std::size_t>(std::floor(static_cast<float>(a.input_size) * a.scale));
    }
    if (old && options.mode == "nearest") {  // according to the test cases of the standard
      options.rounded = detail::rounding_rule_of(a.scale < 1 ? "ceil" : "floor");
    }
    require<data_error>(a.output_size > 0, "has no output positions along axis ", axis);
    require_few({a.output_size});
    if (!roi.empty()) {
      a.roi_begin = static_cast<float>(roi[i]);
      a.roi_end = static_cast<float>(roi[i + axes.size()]);
      std::vector<std::int64_t> row;
      for (std::size_t k = 0; k < a.output_size; ++k) {
        const double position = options.position_of(a, k);
        row.push_back(position >= 0 && position <= input_size - 1 ? 1 : 0);
        leaves = leaves || row.back() == 0;
      }
      dims axis_extents(x.rank() - axis, 1);
      axis_extents[0] = a.output_size;
      const dims extents = broadcast(inside.extents, axis_extents);
      const numbers axis_inside =
          broadcast_to(integer_numbers(std::move(row), axis_extents, truth), extents);
      numbers both = broadcast_to(inside, extents);
      auto& elements = std::get<0>(both.elements);
      for (std::size_t k = 0; k < elements.size(); ++k) {
        elements[k] *= axis_inside.integers()[k];
      }
      inside = std::move(both);
    } else if (a.output_size == a.input_size && a.scale == 1) {
      continue;
    }
    x = detail::resized(n.out, x, axis, options, a);
  }
  if (!leaves) {
    return n.give(std::move(x));
  }
  n.x = {known_tensor(std::move(inside)), x, known_tensor(real_numbers({outside}, {}))};
  elementwise(
      n, 3,
      [&](const auto& values) {
        return n.out.call(kernels::select{}, {values[0], values[1], values[2]});
      },
      x.type);
}

}  // namespace glia::onnx::reading
