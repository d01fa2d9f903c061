#pragma once

#include <span>
#include <variant>

#include "glia/backends/numbers_of.hpp"
#include "glia/core/inline.hpp"
#include "glia/layers/adaptation.hpp"
#include "glia/layers/preprocessing.hpp"

namespace glia {

GLIA_INLINE standardize::fitted standardize::fit(scope& s, const variable& x,
                                                 const shape& channels) const {
  tensor& mean = s.mutable_state("mean", channels, mean_initializer);
  tensor& scale = s.mutable_state("scale", channels, scale_initializer);
  detail::fitted_layer& layer = s.adaptation()->layer_of(mean, scale);
  const auto add = [&](const auto& values) {
    layer.statistics.add(std::span(values), channels[0]);
  };
  std::visit(add, numbers_of(s.device(), x.value()));
  return {mean, scale};
}

}  // namespace glia
