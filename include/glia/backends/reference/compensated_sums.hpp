#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/backends/long_sum.hpp"

namespace glia::reference_loops {

/// A compensated sum for each element of a tensor. Terms can be added in any order.
template <class T>
class compensated_sums {
 public:
  compensated_sums(const memory_pool& memory, const detail::tensor_view<T>& totals)
      : totals_(totals.data()), size_(totals.size()), lost_(memory, {totals.size()}) {
    std::fill_n(totals_, size_, T{0});
    std::fill_n(lost_.data(), size_, T{0});
  }

  [[gnu::always_inline]] inline void add(std::size_t index, T x) const {
    detail::compensated_sum<T>::add(x, totals_[index], lost_.data()[index]);
  }
  /// Adds the rounding errors to the sums. Call it after all terms have been added.
  void end() const {
    for (std::size_t i = 0; i < size_; ++i) {
      totals_[i] = detail::compensated_sum<T>::value(totals_[i], lost_.data()[i]);
    }
  }

 private:
  T* totals_;
  std::size_t size_;
  detail::host_tensor<T> lost_;
};

}  // namespace glia::reference_loops
