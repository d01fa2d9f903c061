#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "glia/models/zoo/zoo_network.hpp"

namespace glia {

/// What all networks of the zoo can be asked for.
struct zoo_options {
  std::size_t classes = 0;  ///< outputs of a classifier, as logits; 0: none, ends in the features
  double width = 1;         ///< multiplies all channels but the classes; > 0, published for 1

  friend bool operator==(const zoo_options&, const zoo_options&) = default;
};

namespace detail {

inline void require_width(std::string_view name, const zoo_options& options) {
  require<value_error>(options.width > 0 && std::isfinite(options.width), name,
                       ": expected a finite positive width, got ", options.width);
}

/// So many channels times the width, rounded, at least 1.
[[nodiscard]] inline std::size_t scaled_channels(std::size_t channels, const zoo_options& options) {
  const double wanted = std::round(static_cast<double>(channels) * options.width);
  return std::max<std::size_t>(1, static_cast<std::size_t>(wanted));
}

/// The last stage: the mean over all positions and, for classes, their logits; dropout before them
/// where there is a rate.
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
