#pragma once

#include <glia/testing/values.hpp>
#include <memory>
#include <vector>

#include "catch.hpp"
#include "forwarding_backend.hpp"
#include "helpers.hpp"

namespace test::fusion {

/// The cpu backend, which writes down how many convolutions each of its chains takes. Whole batches
/// come to it, and kernels one by one.
class spy : public test::forwarding_backend {
 public:
  spy() : forwarding_backend(glia::cpu<float>()) {}

  void run(const glia::kernel_call& call) const override {
    if (const auto* const chain = call.as<kernels::conv2d_chain>()) {
      chains_.push_back(chain->count);
    }
    forwarding_backend::run(call);
  }
  [[nodiscard]] std::vector<std::size_t> chains() const { return chains_; }

 private:
  mutable std::vector<std::size_t> chains_;
};

/// Parameters all different, variances positive, scales not near 0.
template <class Model>
void set_all(Model& net) {
  for (std::size_t i = 0; i < net.parameters().size(); ++i) {
    const glia::parameter_spec spec = net.parameters()[i].spec;
    auto values = glia::testing::test_values(spec.shape, static_cast<std::uint32_t>(50 + i));
    for (float& value : values) {
      if (spec.name.ends_with("variance")) {
        value = 0.3F + 2 * std::abs(value);
      } else if (spec.name.ends_with("gamma")) {
        value = value < 0 ? value - 0.5F : value + 0.5F;
      }
    }
    const xt::xarray<float> shaped =
        xt::adapt(values, std::vector<std::size_t>(spec.shape.begin(), spec.shape.end()));
    net.set(spec.name, shaped);
  }
}

inline xt::xarray<float> images(std::size_t count, const glia::shape& sample) {
  const glia::shape s = glia::batch_of(count, sample);
  const auto values = glia::testing::test_values(s, 1);
  return xt::adapt(values, std::vector<std::size_t>(s.begin(), s.end()));
}

template <class Description, class B>
xt::xarray<float> predictions(const Description& layers, const glia::shape& sample,
                              std::size_t count, const B& device) {
  glia::model net{layers, sample, device};
  set_all(net);
  return net.predict(images(count, sample), {.batch_size = count});
}

struct comparison {
  double distance;                  // from the reference, relative to the largest output
  std::vector<std::size_t> chains;  // a convolution on its own is one
};

template <class Description>
comparison compare(const Description& layers, const glia::shape& sample, std::size_t count = 3) {
  const auto expected = predictions(layers, sample, count, glia::reference<float>());
  const auto watched = std::make_shared<const spy>();
  const glia::device device(watched);
  const auto actual = predictions(layers, sample, count, device);
  double largest = 0;
  for (const float value : expected) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  CHECK(largest > 0.01);
  return {distance(actual, expected) / largest, watched->chains()};
}

inline glia::conv2d depthwise(std::size_t channels, std::size_t stride) {
  return {.filters = channels,
          .kernel_size = 3,
          .strides = stride,
          .padding = 1,
          .groups = channels,
          .use_bias = false};
}
inline glia::conv2d pointwise(std::size_t filters) {
  return {.filters = filters, .kernel_size = 1, .use_bias = false};
}

/// More convolutions than one chain takes; channels that fill no vector; a stride in the middle.
inline auto bottlenecks() {
  using namespace glia;
  return sequential{
      conv2d{.filters = 13, .kernel_size = 3, .strides = 2, .padding = 1, .use_bias = false},
      batch_norm{},
      relu6,
      depthwise(13, 1),
      batch_norm{.epsilon = 1e-5},
      relu6,
      pointwise(9),
      batch_norm{},
      pointwise(35),
      batch_norm{},
      relu6,
      depthwise(35, 2),
      batch_norm{},
      relu6,
      pointwise(17),
      batch_norm{}};
}

}  // namespace test::fusion
