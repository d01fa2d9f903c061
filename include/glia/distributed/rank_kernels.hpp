#pragma once

// Kernels that exchange numbers with the other ranks of a `joint_step`. All ranks must run them in
// the same order. Outside of such a step, the batch belongs to this process alone.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "glia/distributed/joint_step.hpp"
#include "glia/distributed/messages.hpp"
#include "glia/kernels/kernel.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia {

namespace detail {

/// Gathers `count` numbers from each rank, in the order of the ranks.
template <class T>
[[nodiscard]] std::vector<T> gather_numbers(rank_group& ranks, const T* numbers,
                                            std::size_t count) {
  std::vector<T> result(ranks.size() * count);
  std::copy_n(numbers, count, result.data() + ranks.rank() * count);
  gather_blocks(ranks, reinterpret_cast<std::byte*>(result.data()),
                static_cast<int>(count * sizeof(T)));
  return result;
}

/// Calls compute(pointers to the operands' numbers, pointers to the results' numbers), for the type
/// of the tensors' numbers.
template <class Compute>
void with_numbers(const tensor* const* operands, const tensor* const* results,
                  const Compute& compute) {
  const auto compute_as = [&]<class T>(T) {
    compute([&](std::size_t i) { return reinterpret_cast<const T*>(operands[i]->bytes()); },
            [&](std::size_t i) { return reinterpret_cast<T*>(results[i]->bytes()); });
  };
  operands[0]->real_bytes() == sizeof(float) ? compute_as(0.0F) : compute_as(0.0);
}

inline void require_vector(std::string_view name, const tensor_spec& x) {
  require_elements(name, x, element::real);
  require<shape_error>(x.shape.rank() == 1, name, ": expected a vector, got ", x.shape);
}

}  // namespace detail

namespace kernels {

/// Computes the mean and the variance (C) over the rows of all ranks, and the share of this rank in
/// the rows, from the mean and the variance (C) over the `rows` rows of this rank.
///
/// With the means m, the variances v and the shares w of the ranks, mean = m0 + sum w (m - m0),
/// where m0 is the mean of the first rank, and variance = sum w (v + (m - mean)^2). Chan, Golub and
/// LeVeque, "Algorithms for computing the sample variance", 1983.
struct moments_over_ranks {
  std::size_t rows = 0;

  static constexpr std::string_view name = "moments_over_ranks";
  static constexpr std::size_t operands = 2;
  static constexpr std::size_t results = 3;

  [[nodiscard]] std::array<tensor_spec, 3> result(const tensor_spec& mean,
                                                  const tensor_spec& variance) const {
    detail::require_vector(name, mean);
    require_same_shape(name, mean.shape, variance.shape);
    return {mean, variance, real_of({})};
  }
  [[nodiscard]] static double flops(const tensor_spec& mean, const tensor_spec& /*variance*/) {
    return 8 * detail::count(mean.shape);
  }
  void compute(const tensor* const* inputs, const tensor* const* outputs) const {
    const std::size_t channels = inputs[0]->size();
    detail::with_numbers(inputs, outputs, [&](const auto& input, const auto& output) {
      using T = std::remove_pointer_t<decltype(output(0))>;
      rank_group* const ranks = joint_step::ranks();
      if (ranks == nullptr) {
        std::copy_n(input(0), channels, output(0));
        std::copy_n(input(1), channels, output(1));
        *output(2) = 1;
        return;
      }
      // Doubles hold the counts and the numbers of both types exactly.
      const std::size_t size = 2 * channels + 1;
      std::vector<double> moments(size, static_cast<double>(rows));
      std::copy_n(input(0), channels, moments.data());
      std::copy_n(input(1), channels, moments.data() + channels);
      const std::vector<double> numbers = detail::gather_numbers(*ranks, moments.data(), size);
      double whole = 0;
      for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
        whole += numbers[rank * size + 2 * channels];
      }
      const auto number = [&](std::size_t rank, std::size_t i) {
        return static_cast<T>(numbers[rank * size + i]);
      };
      const auto share = [&](std::size_t rank) {
        return static_cast<T>(numbers[rank * size + 2 * channels] / whole);
      };
      for (std::size_t c = 0; c < channels; ++c) {
        T sum = 0;
        for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
          sum += (number(rank, c) - number(0, c)) * share(rank);
        }
        const T mean = number(0, c) + sum;
        T variance = 0;
        for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
          const T distance = number(rank, c) - mean;
          variance += (number(rank, channels + c) + distance * distance) * share(rank);
        }
        output(0)[c] = mean;
        output(1)[c] = variance;
      }
      *output(2) = share(ranks->rank());
    });
  }
  friend bool operator==(const moments_over_ranks&, const moments_over_ranks&) = default;
};

/// Adds the vectors of all ranks.
struct sum_over_ranks {
  static constexpr std::string_view name = "sum_over_ranks";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] static tensor_spec result(const tensor_spec& x) {
    detail::require_vector(name, x);
    return x;
  }
  [[nodiscard]] static double flops(const tensor_spec& x) { return detail::count(x.shape); }
  static void compute(const tensor* const* inputs, const tensor* const* outputs) {
    const std::size_t size = inputs[0]->size();
    detail::with_numbers(inputs, outputs, [&](const auto& input, const auto& output) {
      rank_group* const ranks = joint_step::ranks();
      if (ranks == nullptr) {
        std::copy_n(input(0), size, output(0));
        return;
      }
      const auto numbers = detail::gather_numbers(*ranks, input(0), size);
      std::fill_n(output(0), size, 0);
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        output(0)[i % size] += numbers[i];
      }
    });
  }
  friend bool operator==(const sum_over_ranks&, const sum_over_ranks&) = default;
};

}  // namespace kernels

}  // namespace glia
