#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/shared_floats.hpp"

namespace glia {

/// A function that sets the initial values of a parameter.
///
/// The function receives the values to fill, the parameter's shape and a stream of random numbers.
/// Two initializers are equal if they have the same name, and output streams print the name.
/// Library functions such as `glorot_uniform()` and `constant(0)` return initializers.
class initializer {
 public:
  using function = std::function<void(std::span<float>, const shape&, random_stream&)>;

  using place = std::function<shared_floats()>;

  /// Makes an initializer from a name and a function. The optional function `in_place` returns the
  /// values in row-major order if they are in memory already, where a device may use them, and
  /// otherwise nothing. Throws `value_error` if the function is
  /// empty.
  initializer(std::string name, function fill, place in_place = {})
      : name_(std::move(name)),
        fill_(std::make_shared<const function>(std::move(fill))),
        in_place_(std::move(in_place)) {
    require<value_error>(*fill_ != nullptr, "initializer ", name_,
                         ": expected a function, got an empty std::function");
  }

  /// Sets `values`, the elements of a parameter of shape s in row-major order.
  void operator()(std::span<float> values, const shape& s, random_stream& random) const {
    (*fill_)(values, s, random);
  }
  /// Returns the values that are in memory already, or nothing if the function must set them.
  [[nodiscard]] shared_floats in_place() const { return in_place_ ? in_place_() : shared_floats{}; }

  friend bool operator==(const initializer& a, const initializer& b) { return a.name_ == b.name_; }
  friend std::ostream& operator<<(std::ostream& out, const initializer& i) {
    return out << i.name_;
  }

 private:
  std::string name_;
  std::shared_ptr<const function> fill_;
  place in_place_;
};

/// The fan-in and fan-out of a parameter: the numbers of values that enter and leave the kernel.
/// Initializers scale random numbers by them.
///
/// For a kernel (..., I, O), the fan-in is I and the fan-out is O, each multiplied by the product
/// of the leading extents (the size of the receptive field). For a vector, both are its length.
struct fans {
  double fan_in;   ///< Fan-in.
  double fan_out;  ///< Fan-out.
};
/// Returns the fan-in and fan-out of a parameter of shape s.
[[nodiscard]] fans fans_of(const shape& s);

/// Glorot's uniform initializer: uniform in [-b, b] with b = sqrt(6 / (fan-in + fan-out)). Glorot
/// and Bengio, AISTATS 2010, eq. 16.
[[nodiscard]] initializer glorot_uniform();
/// Glorot's normal initializer: normal with mean 0 and variance 2 / (fan-in + fan-out). As in
/// PyTorch it is not truncated; Keras truncates at two standard deviations. Glorot and Bengio,
/// AISTATS 2010, eq. 12.
[[nodiscard]] initializer glorot_normal();
/// He's uniform initializer: uniform in [-b, b] with b = sqrt(6 / fan-in). He, Zhang, Ren and Sun,
/// ICCV 2015, eq. 10.
[[nodiscard]] initializer he_uniform();
/// He's normal initializer: normal with mean 0 and variance 2 / fan-in. As in PyTorch it is not
/// truncated; Keras truncates at two standard deviations. He, Zhang, Ren and Sun, ICCV 2015,
/// eq. 10.
[[nodiscard]] initializer he_normal();
/// LeCun's uniform initializer: uniform in [-b, b] with b = sqrt(3 / fan-in). LeCun, Bottou, Orr
/// and Müller, Efficient BackProp, 1998, eq. 16.
[[nodiscard]] initializer lecun_uniform();
/// LeCun's normal initializer: normal with mean 0 and variance 1 / fan-in. It is not truncated;
/// Keras truncates at two standard deviations. LeCun, Bottou, Orr and Müller, Efficient BackProp,
/// 1998, eq. 16.
[[nodiscard]] initializer lecun_normal();

/// Uniform initializer: uniform in [-bound, bound]. random_uniform(0.05) is equivalent to Keras's
/// RandomUniform with its defaults.
[[nodiscard]] initializer random_uniform(double bound);

/// Uniform initializer: uniform in [low, high]. Throws `value_error` if low is larger than high.
[[nodiscard]] initializer random_uniform(double low, double high);

/// Normal initializer: normal with a mean and a standard deviation. The defaults are those of
/// Keras's RandomNormal. Throws `value_error` if the standard deviation is negative.
[[nodiscard]] initializer random_normal(double mean = 0, double stddev = 0.05);

/// Orthogonal initializer: a random matrix with orthogonal columns of length `gain`, or orthogonal
/// rows if it has fewer rows than columns. The last axis of the parameter counts the columns, and
/// all other axes together count the rows. Saxe et al., ICLR 2014.
[[nodiscard]] initializer orthogonal(double gain = 1);

/// Constant initializer: every element is `value`.
[[nodiscard]] initializer constant(double value);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/layers/initializer_impl.hpp"
#endif
