#pragma once

// Every tolerance of the tests, in one place. Each is a few times what is measured.
namespace tolerance {

inline constexpr double float_kernel = 5e-5;      // one kernel in float against double
inline constexpr double double_kernel = 1e-11;    // one kernel in double against double
inline constexpr double gradient = 1e-6;          // adjoints against central differences, relative
inline constexpr double golden = 1e-5;            // ten training steps against another library
inline constexpr double short_training = 3e-3;    // 30 steps of Adam and ReLU, on another processor
inline constexpr double trained_features = 1e-4;  // 52 convolutions against another library
inline constexpr double least_squares = 1e-10;    // in double, against certified digits
inline constexpr double hand_computed = 1e-6;     // short float sums against numbers on paper

}  // namespace tolerance
