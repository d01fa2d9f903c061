#pragma once

#include <span>
#include <variant>
#include <vector>

#include "glia/backends/device.hpp"

namespace glia {

namespace detail {

/// Numbers on the host, in the type in which a device computes.
using host_numbers = std::variant<std::vector<float>, std::vector<double>>;

}  // namespace detail

/// Returns the elements of a tensor of real numbers, in row-major order, with all their digits.
[[nodiscard]] inline detail::host_numbers numbers_of(const glia::device& device, const tensor& x) {
  const auto read = [&]<class T>(std::vector<T> numbers) -> detail::host_numbers {
    device.to_host(x, std::span<T>(numbers));
    return numbers;
  };
  return device.real_bytes() == sizeof(float) ? read(std::vector<float>(x.size()))
                                              : read(std::vector<double>(x.size()));
}

/// Makes a tensor of numbers on a device.
[[nodiscard]] inline tensor tensor_of(const glia::device& device,
                                      const detail::host_numbers& numbers, const shape& s) {
  return std::visit([&](const auto& values) { return device.from_host(std::span(values), s); },
                    numbers);
}

}  // namespace glia
