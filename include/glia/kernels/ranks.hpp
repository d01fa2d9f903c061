#pragma once

#include <cstddef>
#include <string_view>

#include "glia/distributed/rank_group.hpp"
#include "glia/kernels/kernel.hpp"

namespace glia::kernels {

/// Gathers x (C) from all ranks; each rank gets the tensor (ranks, C). All ranks must run this
/// kernel, and none may start another communication in between. Optional for a backend.
struct gather_over_ranks {
  rank_group* ranks = nullptr;

  static constexpr std::string_view name = "gather_over_ranks";
  static constexpr std::size_t operands = 1;
  static constexpr std::size_t results = 1;

  [[nodiscard]] tensor_spec result(const tensor_spec& x) const {
    require_elements("gather_over_ranks", x, element::real);
    require<shape_error>(x.shape.rank() == 1, "gather_over_ranks: expected a vector, got ",
                         x.shape);
    return real_of({ranks->size(), x.shape[0]});
  }
  [[nodiscard]] static double flops(const tensor_spec& /*x*/) { return 0; }
  friend bool operator==(const gather_over_ranks&, const gather_over_ranks&) = default;
};

}  // namespace glia::kernels
