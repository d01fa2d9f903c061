#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/core/bfloat16.hpp"
#include "glia/core/random.hpp"
#include "glia/testing/values.hpp"

namespace glia::testing::detail {

/// Runs kernels on one device: creates operands and collects outputs. Either the caller keeps the
/// operands, to check afterwards that they are unchanged, or the kernel may reuse their memory.
class bench {
 public:
  /// `rounds` is whether operands are rounded to bfloat16.
  bench(const glia::device& device, bool keep, bool rounds = false)
      : device_(&device), keep_(keep), rounds_(rounds) {}

  /// A special value for one element of one operand. Operands are counted in the order of their
  /// creation.
  struct injection {
    std::size_t operand;
    std::size_t element;
    float value;
  };
  bench(const glia::device& device, const injection& special, bool rounds = false)
      : device_(&device), keep_(false), rounds_(rounds), special_(special) {}

  [[nodiscard]] const glia::device& device() const { return *device_; }

  /// Creates an operand from test_values, multiplied by `scale` and shifted by `offset`.
  [[nodiscard]] tensor input(const shape& s, std::uint32_t stream, float scale = 1,
                             float offset = 0) {
    std::vector<float> values = test_values(s, stream);
    for (float& value : values) {
      value = value * scale + offset;
    }
    return input(s, std::move(values));
  }
  /// Creates an operand from test_values in which about two of three elements are zero, as after a
  /// ReLU.
  [[nodiscard]] tensor sparse(const shape& s, std::uint32_t stream) {
    std::vector<float> values = test_values(s, stream);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          glia::detail::random_bits({.seed = 7, .stream = stream}, i) % 3 == 0 ? values[i] : 0.0F;
    }
    return input(s, std::move(values));
  }
  [[nodiscard]] tensor input(const shape& s, std::vector<float> values) {
    if (special_ && special_->operand == sizes_.size()) {
      values[special_->element] = special_->value;
    }
    for (float& value : values) {
      value = rounds_ ? glia::detail::bfloat16_number(value).value() : value;
    }
    sizes_.push_back(values.size());
    tensor t = device_->from_host(std::span<const float>(values), s);
    if (keep_) {
      operands_.emplace_back(t, std::move(values));
    }
    return t;
  }
  [[nodiscard]] tensor integers(std::span<const std::int32_t> values) {
    return device_->from_host(values, {values.size()});
  }
  [[nodiscard]] tensor classes(std::vector<std::int32_t> values) { return integers(values); }
  /// Returns an empty tensor, for an optional operand that is omitted.
  [[nodiscard]] tensor absent() const { return {}; }

  void out(const tensor& t) {
    if (t.type() == element::index) {
      out_as<std::int32_t>(t);
    } else {
      out_as<double>(t);
    }
  }

  [[nodiscard]] const std::vector<double>& outputs() const { return outputs_; }
  [[nodiscard]] const std::vector<shape>& shapes() const { return shapes_; }
  /// Returns the number of elements of each operand created so far.
  [[nodiscard]] const std::vector<std::size_t>& operand_sizes() const { return sizes_; }

  [[nodiscard]] bool operands_kept() const {
    return std::all_of(operands_.begin(), operands_.end(), [&](const auto& operand) {
      std::vector<float> current(operand.second.size());
      device_->to_host(operand.first, std::span<float>(current));
      return current == operand.second;
    });
  }

 private:
  template <class Number>
  void out_as(const tensor& t) {
    std::vector<Number> values(t.shape().size());
    device_->to_host(t, std::span<Number>(values));
    shapes_.push_back(t.shape());
    outputs_.insert(outputs_.end(), values.begin(), values.end());
  }

  const glia::device* device_;
  bool keep_;
  bool rounds_ = false;
  std::optional<injection> special_;
  std::vector<std::size_t> sizes_;
  std::vector<std::pair<tensor, std::vector<float>>> operands_;
  std::vector<double> outputs_;
  std::vector<shape> shapes_;
};

}  // namespace glia::testing::detail
