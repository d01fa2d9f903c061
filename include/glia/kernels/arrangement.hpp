#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include "glia/kernels/broadcasting.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

inline void require_broadcastable_to(const shape& source, const shape& target) {
  require<shape_error>(source.rank() <= target.rank() && broadcast_shape(source, target) == target,
                       "shape ", source, " cannot be broadcast to ", target);
}

inline void require_axis(std::string_view caller, const shape& s, std::size_t axis) {
  require<shape_error>(axis < s.rank(), caller, ": got axis ", axis, " for a tensor of shape ", s,
                       "; axes are counted from 0");
}

/// Returns the index of an axis counted from 0, for an axis that can be negative: -1 is the last.
[[nodiscard]] inline std::size_t axis_from_front(std::string_view op, const shape& s,
                                                 std::ptrdiff_t axis) {
  const auto rank = static_cast<std::ptrdiff_t>(s.rank());
  require<shape_error>(axis >= -rank && axis < rank, op, ": got axis ", axis,
                       " for a tensor of shape ", s, "; axes are counted from 0, or back from -1");
  return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// A list of axis indices, stored like the extents of a shape.
using axis_list = shape;

/// Creates a tensor with `value` at every element.
struct full {
  shape target_shape;
  double value = 0;

  static constexpr std::string_view name = "full";
  static constexpr std::size_t operands = 0;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result() const { return real_of(target_shape); }
  [[nodiscard]] static double flops() { return 0; }
  [[nodiscard]] static batch_axes<0, 1> axes() { return {{}, {batch_axis::shared}}; }
  friend bool operator==(const full&, const full&) = default;
};

/// Returns the same elements in another shape of equal size.
struct reshape {
  shape target_shape;

  static constexpr std::string_view name = "reshape";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require<shape_error>(x.shape.size() == target_shape.size(), "reshape: the shape ", x.shape,
                         " has ", x.shape.size(), " elements, but ", target_shape, " has ",
                         target_shape.size());
    return {target_shape, x.type};
  }
  [[nodiscard]] static bool relabels(const tensor_spec&) { return true; }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    const bool keeps_samples =
        x.shape.rank() > 0 && target_shape.rank() > 0 && x.shape[0] == target_shape[0];
    return keeps_samples ? detail::by_rows<reshape>() : batch_axes<1, 1>::whole();
  }
  /// Returns the same kernel for `rows` samples.
  [[nodiscard]] reshape for_rows(std::size_t rows) const {
    return {batch_of(rows, sample_of(target_shape))};
  }
  friend bool operator==(const reshape&, const reshape&) = default;
};

/// Broadcasts x to the shape `target_shape`, like numpy.broadcast_to: repeats x along axes that are
/// missing or have extent 1.
struct broadcast_to {
  shape target_shape;

  static constexpr std::string_view name = "broadcast_to";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("broadcast_to", x, element::real);
    require_broadcastable_to(x.shape, target_shape);
    return real_of(target_shape);
  }
  [[nodiscard]] bool relabels(const tensor_spec& x) const {
    return x.shape.size() == target_shape.size();
  }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    return detail::has_rows_of(x.shape, target_shape)
               ? detail::by_rows<broadcast_to>()
               : batch_axes<1, 1>{{batch_axis::shared}, {batch_axis::rows}};
  }
  [[nodiscard]] broadcast_to for_rows(std::size_t rows) const {
    return {batch_of(rows, sample_of(target_shape))};
  }
  friend bool operator==(const broadcast_to&, const broadcast_to&) = default;
};

/// Sums x over the axes along which `broadcast_to` would repeat a tensor of shape `target_shape`.
/// This is the gradient of `broadcast_to`.
struct sum_to {
  shape target_shape;

  static constexpr std::string_view name = "sum_to";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("sum_to", x, element::real);
    require_broadcastable_to(target_shape, x.shape);
    return real_of(target_shape);
  }
  [[nodiscard]] bool relabels(const tensor_spec& x) const {
    return x.shape.size() == target_shape.size();
  }
  [[nodiscard]] static double flops(const tensor_spec& x) { return detail::count(x.shape); }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    if (x.shape.rank() == 0) {
      return batch_axes<1, 1>::whole();
    }
    return {{batch_axis::rows},
            {detail::has_rows_of(target_shape, x.shape) ? batch_axis::rows : batch_axis::summed}};
  }
  [[nodiscard]] sum_to for_rows(std::size_t rows) const {
    return {batch_of(rows, sample_of(target_shape))};
  }
  friend bool operator==(const sum_to&, const sum_to&) = default;
};

/// Computes the square root of the sum of x^2 over all elements. Squares that are too large for the
/// type do not matter: the result overflows only if the root itself is too large.
struct norm {
  static constexpr std::string_view name = "norm";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& x) {
    require_elements("norm", x, element::real);
    return real_of({});
  }
  [[nodiscard]] static double flops(const tensor_spec& x) { return 2 * detail::count(x.shape); }
  friend bool operator==(const norm&, const norm&) = default;
};

/// Concatenates up to 8 tensors of any element type along an axis. The other operands are omitted.
struct concat {
  std::size_t axis = 0;

  static constexpr std::string_view name = "concat";
  static constexpr std::size_t operands = 8;
  static constexpr std::size_t results = 1;

  template <class... Specs>
  [[nodiscard]] tensor_spec result(const Specs&... parts) const {
    tensor_spec y;
    for (const tensor_spec& part : {parts...}) {
      if (!part) {
        continue;
      }
      require_axis("concat", part.shape, axis);
      if (!y) {
        y = part;
        continue;
      }
      require_elements("concat", part, y.type);
      shape expected = y.shape;
      expected[axis] = part.shape[axis];
      require<shape_error>(part.shape == expected, "concat along axis ", axis, ": the shape ",
                           part.shape, " cannot be joined to ", y.shape,
                           "; their other extents must be equal");
      y.shape[axis] += part.shape[axis];
    }
    require<value_error>(static_cast<bool>(y), "concat: expected at least one tensor, got none");
    return y;
  }
  template <class... Specs>
  [[nodiscard]] static double flops(const Specs&...) {
    return 0;
  }
  template <class... Specs>
  [[nodiscard]] batch_axes<operands, 1> axes(const Specs&...) const {
    return axis > 0 ? detail::by_rows<concat>() : batch_axes<operands, 1>::whole();
  }
  friend bool operator==(const concat&, const concat&) = default;
};

/// Returns elements begin ... begin + extent - 1 of x along an axis. x can have any element type.
struct slice {
  std::size_t axis = 0;
  std::size_t begin = 0;
  std::size_t extent = 1;

  static constexpr std::string_view name = "slice";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_axis("slice", x.shape, axis);
    const std::size_t n = x.shape[axis];
    require<shape_error>(begin <= n && extent <= n - begin, "slice: ", extent,
                         " elements from index ", begin, " exceed axis ", axis, " of the shape ",
                         x.shape);
    tensor_spec y = x;
    y.shape[axis] = extent;
    return y;
  }
  [[nodiscard]] bool relabels(const tensor_spec& x) const { return x.shape[axis] == extent; }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec&) const {
    return axis > 0 ? detail::by_rows<slice>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const slice&, const slice&) = default;
};

/// Pads x along an axis with `before` elements before it and `after` elements after it. These
/// elements are equal to `value`.
struct pad {
  std::size_t axis = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  double value = 0;

  static constexpr std::string_view name = "pad";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("pad", x, element::real);
    require_axis("pad", x.shape, axis);
    const std::size_t room = std::numeric_limits<std::size_t>::max() - x.shape[axis];
    require<shape_error>(before <= room && after <= room - before, "pad: ", before, " and ", after,
                         " elements around axis ", axis, " of ", x.shape, " are too many to count");
    tensor_spec y = x;
    y.shape[axis] += before + after;
    return y;
  }
  [[nodiscard]] bool relabels(const tensor_spec&) const { return before == 0 && after == 0; }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec&) const {
    return axis > 0 ? detail::by_rows<pad>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const pad&, const pad&) = default;
};

/// Permutes the axes of x, like numpy.transpose: axis i of the result is axis order[i] of x. x can
/// have any element type.
struct permute_axes {
  axis_list order;

  static constexpr std::string_view name = "permute_axes";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    tensor_spec y{order, x.type};
    std::array<bool, shape::max_rank> visited{};
    bool each_once = order.rank() == x.shape.rank();
    for (std::size_t i = 0; each_once && i < order.rank(); ++i) {
      each_once = order[i] < x.shape.rank() && !std::exchange(visited[order[i]], true);
      y.shape[i] = each_once ? x.shape[order[i]] : 0;
    }
    require<shape_error>(each_once, "permute_axes: expected each axis of ", x.shape,
                         " once, counted from 0, got ", order);
    return y;
  }
  /// Returns the inverse permutation.
  [[nodiscard]] permute_axes inverse() const {
    permute_axes inverted{order};
    for (std::size_t i = 0; i < order.rank(); ++i) {
      inverted.order[order[i]] = i;
    }
    return inverted;
  }
  /// Returns whether the permutation leaves the elements in the same order: it may only move axes
  /// of extent 1.
  [[nodiscard]] bool relabels(const tensor_spec& x) const {
    std::size_t last = 0;
    for (const std::size_t axis : order) {
      if (x.shape[axis] == 1) {
        continue;
      }
      if (axis < last) {
        return false;
      }
      last = axis;
    }
    return true;
  }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec&) const {
    const bool keeps_samples = order.rank() > 0 && order[0] == 0;
    return keeps_samples ? detail::by_rows<permute_axes>() : batch_axes<1, 1>::whole();
  }
  friend bool operator==(const permute_axes&, const permute_axes&) = default;
};

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const reshape&) { return {}; }
template <class Call>
void add_gradients(const reshape&, Call& call) {
  call.add(0, call.run(reshape{call.shape_of(0)}, call.dy()));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const broadcast_to&) { return {}; }
template <class Call>
void add_gradients(const broadcast_to&, Call& call) {
  call.add(0, call.run(sum_to{call.shape_of(0)}, call.dy()));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const sum_to&) { return {}; }
template <class Call>
void add_gradients(const sum_to&, Call& call) {
  call.add(0, call.run(broadcast_to{call.shape_of(0)}, call.dy()));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const concat&) { return {}; }
template <class Call>
void add_gradients(const concat& k, Call& call) {
  const auto dy = call.dy();
  std::size_t begin = 0;
  for (std::size_t i = 0; i < concat::operands; ++i) {
    const shape& part = call.shape_of(i);
    const std::size_t extent = part.rank() > k.axis ? part[k.axis] : 0;  // 0: omitted
    if (call.wants(i)) {
      call.add(i, call.run(slice{k.axis, begin, extent}, dy));
    }
    begin += extent;
  }
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const slice&) { return {}; }
template <class Call>
void add_gradients(const slice& k, Call& call) {
  const std::size_t extent = call.shape_of(0)[k.axis];
  call.add(0, call.run(pad{k.axis, k.begin, extent - k.begin - k.extent}, call.dy()));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const pad&) { return {}; }
template <class Call>
void add_gradients(const pad& k, Call& call) {
  call.add(0, call.run(slice{k.axis, k.before, call.shape_of(0)[k.axis]}, call.dy()));
}

[[nodiscard]] constexpr saved_tensors saved_for_gradients(const permute_axes&) { return {}; }
template <class Call>
void add_gradients(const permute_axes& k, Call& call) {
  call.add(0, call.run(k.inverse(), call.dy()));
}

}  // namespace glia::kernels
