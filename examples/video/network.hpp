#pragma once

#include <cstddef>
#include <glia/glia.hpp>
#include <vector>

/// Two views of a clip's frames (N, T, C), each of which says a class: what is seen, whenever it
/// is, and in which order. Each is trained with a loss of its own, so that neither leaves to the
/// other what it could learn, and what they say is averaged.
[[nodiscard]] inline auto two_views(std::size_t units, std::size_t classes) {
  return glia::outputs{
      glia::output{"frames", glia::sequential{glia::global_avg_pool1d{}, glia::dense{classes}}},
      glia::output{"order",
                   glia::sequential{
                       glia::spatial_dropout{0.5},
                       glia::bidirectional(glia::gru{.units = units, .return_sequences = true}),
                       glia::global_avg_pool1d{},
                       glia::dropout{0.5},
                       glia::dense{classes},
                   }},
  };
}

/// Squares: with few clips of many features they do better than a cross-entropy.
[[nodiscard]] inline auto losses_of_views() {
  return glia::output_losses{glia::output_loss{"frames", glia::mean_squared_error{}},
                             glia::output_loss{"order", glia::mean_squared_error{}}};
}

/// Classes as rows (N, K) of 0 with a 1 at the class.
[[nodiscard]] inline xt::xarray<float> rows_with_one(const std::vector<int>& labels,
                                                     std::size_t classes) {
  xt::xarray<float> rows = xt::zeros<float>({labels.size(), classes});
  for (std::size_t n = 0; n < labels.size(); ++n) {
    rows(n, static_cast<std::size_t>(labels[n])) = 1;
  }
  return rows;
}
