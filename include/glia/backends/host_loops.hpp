#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/host_tensor.hpp"
#include "glia/core/ranking.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/classification.hpp"
#include "glia/kernels/indexing.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::detail {

/// The loops that all backends in host memory share: they fill tensors, and create and compare
/// class labels. Faster versions would not pay.
template <class T>
struct host_loops {
  using tensor = tensor_view<T>;

  void compute(const kernels::full& k, const memory_pool&, const tensor& y) const {
    std::fill_n(y.data(), y.size(), static_cast<T>(k.value));
  }

  // Only changes the shape.
  void compute(const kernels::reshape&, const memory_pool&, const tensor& x,
               const tensor& y) const {
    std::copy_n(x.data(), x.size(), y.data());
  }

  void compute(const kernels::fake_quantize& k, const memory_pool&, const tensor& x,
               const tensor& scales, const tensor& y) const {
    const auto low = static_cast<T>(k.range.minimum - k.range.zero);
    const auto high = static_cast<T>(k.range.maximum - k.range.zero);
    const std::size_t columns = scales.size();
    for (std::size_t first = 0; first < x.size(); first += columns) {
      for (std::size_t i = 0; i < columns; ++i) {
        const T q = std::nearbyint(x.data()[first + i] / scales.data()[i]);
        y.data()[first + i] = (q < low ? low : high < q ? high : q) * scales.data()[i];
      }
    }
  }

  void compute(const kernels::one_hot& k, const memory_pool&, const tensor& classes,
               const tensor& y) const {
    std::fill_n(y.data(), y.size(), static_cast<T>(k.off_value));
    for (std::size_t n = 0; n < classes.size(); ++n) {
      const auto column = static_cast<std::size_t>(classes.integers()[n]);
      if (column < k.count) {
        y.data()[n * k.count + column] = static_cast<T>(k.on_value);
      }
    }
  }

  void compute(const kernels::to_index&, const memory_pool&, const tensor& x,
               const tensor& y) const {
    std::transform(x.data(), x.data() + x.size(), y.integers(), [](T value) {
      const bool whole = value >= 0 && value < T{0x1p31} && value == std::floor(value);
      return whole ? static_cast<std::int32_t>(value) : -1;
    });
  }

  void compute(const kernels::argmax&, const memory_pool&, const tensor& x, const tensor& y) const {
    const std::size_t columns = x.shape().back();
    for (std::size_t n = 0; n < y.size(); ++n) {
      const T* row = x.data() + n * columns;
      y.integers()[n] = static_cast<std::int32_t>(std::max_element(row, row + columns) - row);
    }
  }

  void compute(const kernels::in_top_k& k, const memory_pool&, const tensor& scores,
               const tensor& classes, const tensor& hits) const {
    const std::size_t columns = scores.shape().back();
    for (std::size_t n = 0; n < hits.size(); ++n) {
      const std::span<const T> row(scores.data() + n * columns, columns);
      const auto truth = static_cast<std::size_t>(classes.integers()[n]);
      hits.data()[n] = is_in_top_k(row, truth, k.k) ? T{1} : T{0};
    }
  }
};

}  // namespace glia::detail
