#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/output_kind.hpp"
#include "glia/core/shape.hpp"

namespace glia {

/// The values of a sample's target, for a metric to read. Throws `value_error`, naming the metric,
/// where a sample has a class instead, and for a value that there is not.
class target_values {
 public:
  constexpr target_values() = default;
  constexpr target_values(std::span<const float> values, std::string_view metric = "a metric")
      : values_(values), metric_(metric) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return values_.size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return values_.empty(); }

  [[nodiscard]] const float& operator[](std::size_t i) const {
    const std::span<const float> all = checked();
    require<value_error>(i < all.size(), metric_, ": reads value ", i, " of a target that has ",
                         all.size());
    return all[i];
  }
  [[nodiscard]] const float* data() const { return checked().data(); }
  [[nodiscard]] const float* begin() const { return data(); }
  [[nodiscard]] const float* end() const { return data() + size(); }
  [[nodiscard]] std::span<const float> subspan(std::size_t first, std::size_t count) const {
    return checked().subspan(first, count);
  }

 private:
  [[nodiscard]] std::span<const float> checked() const {
    require<value_error>(!values_.empty(), metric_,
                         ": reads a target's values, and the samples have classes; read t.label, "
                         "or t.value(i, outputs), which is 1 for the class and 0 for others");
    return values_;
  }

  std::span<const float> values_ = {};
  std::string_view metric_ = "a metric";
};

/// What a sample should have come to: a class, or values of the outputs' shape.
struct sample_target {
  std::int32_t label = -1;    ///< -1 where there are values
  target_values values = {};  ///< none where there is a class
  double border = 0;          ///< above which a single output is taken for class 1

  /// As a value for output `i` of `outputs`: classes are 1 at theirs and 0 elsewhere, those of a
  /// single output 0 or 1.
  [[nodiscard]] double value(std::size_t i, std::size_t outputs) const {
    if (!values.empty()) {
      return values[i];
    }
    return outputs == 1 ? label : label == static_cast<std::int32_t>(i) ? 1 : 0;
  }
};

/// What a metric is to measure, as far as it is known before anything is run.
struct measured_outputs {
  shape output;                              ///< of the model, without N
  std::optional<shape> values = {};          ///< of a target; none where samples have classes
  output_kind applied = output_kind::other;  ///< by the loss: outputs are logits to it
};

/// Something that is measured of a model's outputs beside the loss. One of a user's own is a value:
/// it adds up numbers over the samples, in double and on the host, and makes one of them.
///
///     glia::metric{.name = "bias", .add = [](auto y, const auto& t, auto sums) {
///                    sums[0] += y[0] - t.values[0];
///                  }}
///
/// Metrics are told apart by their names.
struct metric {
  std::string name;
  std::string output = {};  ///< which output it is of, where a model has several; see for_output

  /// Counts the samples whose class is among the k with the highest scores; 0: see `add`.
  std::size_t k = 0;

  std::size_t sums = 1;  ///< how many numbers `add` adds to, from 0 on
  /// `add` is given `sums` fresh numbers for each sample, and `finish` sees those of all samples
  /// one after another: for what no sum can tell. They take 8 bytes each.
  bool per_sample = false;
  std::function<void(std::span<const float> outputs, const sample_target& target,
                     std::span<double> sums)>
      add = {};
  /// The metric, of the sums over so many samples; without it their first divided by the samples.
  std::function<double(std::span<const double> sums, double samples)> finish = {};
  /// Asked before anything is run: why there is no such metric of these. Empty: there is.
  std::function<std::string(const measured_outputs&)> refuses = {};
  bool smaller_is_better = false;  ///< as for errors, unlike for shares of what is right

  [[nodiscard]] bool counts_classes() const { return !add; }
  friend bool operator==(const metric& a, const metric& b) {
    return a.name == b.name && a.k == b.k && a.sums == b.sums && a.per_sample == b.per_sample &&
           a.counts_classes() == b.counts_classes();
  }
};

/// Which metrics are asked for, such as {mae(), r_squared()}: by default accuracy, where samples
/// have classes. An empty vector: none.
class metric_choice {
 public:
  metric_choice() = default;
  metric_choice(std::vector<metric> all) : chosen_(std::move(all)) {}
  metric_choice(std::initializer_list<metric> all) : chosen_(all) {}

  [[nodiscard]] std::vector<metric> value_or(std::vector<metric> others) const {
    return chosen_.value_or(std::move(others));
  }

 private:
  std::optional<std::vector<metric>> chosen_;
};

}  // namespace glia
