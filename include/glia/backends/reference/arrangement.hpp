#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/arrangement.hpp"

namespace glia::reference_loops {

template <class T>
struct arrangement {
  using tensor = detail::tensor_view<T>;

  template <class... Tensors>
  void compute(const kernels::concat& k, const memory_pool&,
               const Tensors&... parts_and_result) const {
    const std::array<const tensor*, sizeof...(Tensors)> tensors{&parts_and_result...};
    std::size_t first = 0;
    for (std::size_t part = 0; part < kernels::concat::operands; ++part) {
      if (const tensor& x = *tensors[part]) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          copy_element(x, i, *tensors.back(), moved(i, x, k.axis, *tensors.back(), first));
        }
        first += x.shape()[k.axis];
      }
    }
  }

  void compute(const kernels::slice& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      copy_element(x, moved(i, y, k.axis, x, k.begin), y, i);
    }
  }

  void compute(const kernels::pad& k, const memory_pool&, const tensor& x, const tensor& y) const {
    std::fill_n(y.data(), y.size(), static_cast<T>(k.value));
    for (std::size_t i = 0; i < x.size(); ++i) {
      y.data()[moved(i, x, k.axis, y, k.before)] = x.data()[i];
    }
  }

  void compute(const kernels::permute_axes& k, const memory_pool&, const tensor& x,
               const tensor& y) const {
    for (std::size_t i = 0; i < y.size(); ++i) {
      std::array<std::size_t, shape::max_rank> position{};
      for (std::size_t axis = y.shape().rank(), rest = i; axis-- > 0; rest /= y.shape()[axis]) {
        position[k.order[axis]] = rest % y.shape()[axis];
      }
      std::size_t x_index = 0;
      for (std::size_t axis = 0; axis < x.shape().rank(); ++axis) {
        x_index = x_index * x.shape()[axis] + position[axis];
      }
      copy_element(x, x_index, y, i);
    }
  }

 private:
  /// Returns the index in `whole` of element i of a part, which begins at index `first` along one
  /// axis.
  static std::size_t moved(std::size_t i, const tensor& part, std::size_t axis, const tensor& whole,
                           std::size_t first) {
    const shape& s = part.shape();
    const std::size_t step = shape(s.begin() + axis + 1, s.end()).size();
    const std::size_t outer = i / step / s[axis];
    return (outer * whole.shape()[axis] + i / step % s[axis] + first) * step + i % step;
  }

  /// Copies an element of any type.
  static void copy_element(const tensor& x, std::size_t x_index, const tensor& y,
                           std::size_t y_index) {
    const std::size_t size = bytes_of<T>(x.type());
    std::copy_n(x.bytes() + x_index * size, size, y.bytes() + y_index * size);
  }
};

}  // namespace glia::reference_loops
