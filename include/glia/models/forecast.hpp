#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/models/model.hpp"

namespace glia {

/// Predicts later steps of a time series, by feeding predictions back into the model.
///
///     const auto next_day = glia::forecast(net, last_two_days, 24);
///
/// `recent` is the end of a series, (T, C) or (T) for one column, where T is the number of steps of
/// the model's input, or more; the last T steps are used. The model maps inputs (T, C) to the next
/// H steps of all columns: its output is (H), (H, C) or (H * C). The result is (steps, C). While
/// more steps are needed, the model runs again on the last T of the known and the predicted steps,
/// so errors grow with the number of steps.
///
/// A model with a horizon of at least `steps` runs once. Throws `shape_error` if the shapes do not
/// fit, and `value_error` if `steps` is 0.
template <class Description>
[[nodiscard]] xt::xarray<float> forecast(const model<Description>& net,
                                         const xt::xarray<float>& recent, std::size_t steps) {
  const shape& sample = net.sample_shape();
  require<shape_error>(sample.rank() == 2,
                       "forecast: expected a model of sequences (T, C), got one of samples ",
                       sample);
  const std::size_t length = sample[0];
  const std::size_t columns = sample[1];
  const std::size_t outputs = net.output_shape().size();
  const std::size_t recent_columns = recent.dimension() == 2 ? recent.shape()[1] : 1;
  require<shape_error>(recent.dimension() > 0 && recent.dimension() <= 2 &&
                           recent_columns == columns && recent.shape()[0] >= length,
                       "forecast: expected at least ", length, " steps of ", columns,
                       " columns, got ", shape(recent.shape().begin(), recent.shape().end()));
  require<shape_error>(outputs > 0 && outputs % columns == 0, "forecast: expected outputs for all ",
                       columns, " columns, got ", outputs, " outputs");
  require<value_error>(steps > 0, "forecast: expected at least 1 step, got 0");
  std::vector<float> known(recent.begin(), recent.end());
  const std::size_t before = known.size();
  while (known.size() < before + steps * columns) {
    known.resize(known.size() + outputs);
    const std::span<float> numbers = known;
    const std::span<float> next = numbers.last(outputs);
    net.predict_batch(numbers.first(numbers.size() - outputs).last(length * columns), next);
  }
  xt::xarray<float> result(xt::xarray<float>::shape_type{steps, columns});
  std::copy_n(known.begin() + static_cast<std::ptrdiff_t>(before), steps * columns, result.begin());
  return result;
}

}  // namespace glia
