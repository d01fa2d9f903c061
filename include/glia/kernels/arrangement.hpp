#pragma once

#include <cstddef>
#include <string_view>

#include "glia/kernels/elementwise.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia {

inline void require_broadcastable_to(const shape& from, const shape& to) {
  require<shape_error>(from.rank() <= to.rank() && broadcast_shape(from, to) == to, "shape ", from,
                       " cannot be broadcast to ", to);
}

}  // namespace glia

namespace glia::kernels {

/// A tensor with `value` at every element.
struct full {
  shape to;
  double value = 0;

  static constexpr std::string_view name = "full";
  static constexpr std::size_t operands = 0;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result() const { return real_of(to); }
  [[nodiscard]] static double flops() { return 0; }
  [[nodiscard]] static batch_axes<0, 1> axes() { return {{}, {batch_axis::shared}}; }
  friend bool operator==(const full&, const full&) = default;
};

/// The same elements in another shape of equal size.
struct reshape {
  shape to;

  static constexpr std::string_view name = "reshape";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require<shape_error>(x.shape.size() == to.size(), "reshape: ", x.shape, " has ", x.shape.size(),
                         " elements, ", to, " has ", to.size());
    return {to, x.type};
  }
  [[nodiscard]] static bool relabels(const tensor_spec&) { return true; }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    const bool keeps_samples = x.shape.rank() > 0 && to.rank() > 0 && x.shape[0] == to[0];
    return keeps_samples ? detail::by_rows<reshape>() : batch_axes<1, 1>::whole();
  }
  /// The same for `rows` samples.
  [[nodiscard]] reshape for_rows(std::size_t rows) const { return {batch_of(rows, sample_of(to))}; }
  friend bool operator==(const reshape&, const reshape&) = default;
};

/// x repeated along the axes in which it is shorter than `to`.
struct broadcast_to {
  shape to;

  static constexpr std::string_view name = "broadcast_to";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("broadcast_to", x, element::real);
    require_broadcastable_to(x.shape, to);
    return real_of(to);
  }
  [[nodiscard]] bool relabels(const tensor_spec& x) const { return x.shape.size() == to.size(); }
  [[nodiscard]] static double flops(const tensor_spec&) { return 0; }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    return detail::has_rows_of(x.shape, to)
               ? detail::by_rows<broadcast_to>()
               : batch_axes<1, 1>{{batch_axis::shared}, {batch_axis::rows}};
  }
  [[nodiscard]] broadcast_to for_rows(std::size_t rows) const {
    return {batch_of(rows, sample_of(to))};
  }
  friend bool operator==(const broadcast_to&, const broadcast_to&) = default;
};

/// x summed over the axes in which `to` is shorter; the adjoint of `broadcast_to`.
struct sum_to {
  shape to;

  static constexpr std::string_view name = "sum_to";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("sum_to", x, element::real);
    require_broadcastable_to(to, x.shape);
    return real_of(to);
  }
  [[nodiscard]] bool relabels(const tensor_spec& x) const { return x.shape.size() == to.size(); }
  [[nodiscard]] static double flops(const tensor_spec& x) { return detail::count(x.shape); }
  [[nodiscard]] batch_axes<1, 1> axes(const tensor_spec& x) const {
    if (x.shape.rank() == 0) {
      return batch_axes<1, 1>::whole();
    }
    return {{batch_axis::rows},
            {detail::has_rows_of(to, x.shape) ? batch_axis::rows : batch_axis::summed}};
  }
  [[nodiscard]] sum_to for_rows(std::size_t rows) const { return {batch_of(rows, sample_of(to))}; }
  friend bool operator==(const sum_to&, const sum_to&) = default;
};

}  // namespace glia::kernels
