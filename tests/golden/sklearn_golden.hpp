// Made by tests/golden/make_sklearn_golden.py with scikit-learn 1.9.1: do not edit.
#pragma once

#include <array>
#include <cstdint>

namespace glia_golden {

inline constexpr std::array<std::int32_t, 47> labels{0, 1, 1, 3, 2, 3, 2, 3, 2, 0, 0, 3, 0, 0, 0, 1,
                                                     0, 0, 0, 0, 0, 3, 2, 2, 0, 1, 0, 0, 1, 0, 0, 2,
                                                     0, 3, 2, 3, 2, 0, 0, 0, 0, 0, 2, 0, 2, 3, 2};

inline constexpr std::array<float, 4> balanced_class_weight{5.108695652e-01F, 2.350000000e+00F,
                                                            1.068181818e+00F, 1.468750000e+00F};

inline constexpr std::array<int, 47> stratified_fold{0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2,
                                                     1, 1, 1, 1, 1, 2, 1, 1, 1, 3, 2, 2, 3, 2, 2, 1,
                                                     2, 2, 2, 3, 2, 2, 3, 3, 3, 3, 2, 3, 3, 3, 3};

}  // namespace glia_golden
