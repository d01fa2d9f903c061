#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

/// The options of all networks of the zoo.
struct zoo_options {
  /// Number of classes. The outputs are then the logits of a classifier. 0: no classifier, and the
  /// outputs are the features. Keras has a classifier with 1000 classes by default.
  std::size_t classes = 0;
  /// Factor for the number of channels (not classes), above 0. Published weights need 1.
  double width = 1;

  friend bool operator==(const zoo_options&, const zoo_options&) = default;
};

namespace detail {

inline void require_width(std::string_view name, const zoo_options& options) {
  require<value_error>(options.width > 0 && std::isfinite(options.width), name,
                       ": expected a finite width above 0, got ", options.width);
}

/// Returns the number of channels times the width, rounded, at least 1.
[[nodiscard]] inline std::size_t scaled_channels(std::size_t channels, const zoo_options& options) {
  const double rounded = std::round(static_cast<double>(channels) * options.width);
  return std::max<std::size_t>(1, static_cast<std::size_t>(rounded));
}

/// Adds the last stage: global average pooling and, if there are classes, the classifier, with
/// dropout before it if `rate` is above 0.
inline void add_top(zoo_network& net, std::size_t x, const zoo_options& options, double rate = 0) {
  x = net.add("avg_pool", global_avg_pool2d{}, x);
  if (options.classes > 0) {
    x = rate > 0 ? net.add("dropout", dropout{rate}, x) : x;
    net.add("predictions", dense{options.classes}, x);
  }
  net.end_stage();
}

}  // namespace detail

}  // namespace glia
