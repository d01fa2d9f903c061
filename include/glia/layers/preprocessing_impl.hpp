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
  detail::adaptation& collected = *s.adaptation();
  detail::fitted_layer& layer = collected.layer_of(mean, scale);
  if (invert) {
    const shape& targets = collected.target_shape;
    s.expect(targets == x.shape(), "adapt fits a layer with invert to the targets of the data ",
             "set, so expected targets ", batch_text(x.shape()), ", got ",
             targets.rank() == 0 ? "class labels" : text(batch_text(targets)),
             "; pass a data set whose targets have the shape of the layer's output");
    layer.statistics.add(collected.targets, channels[0]);
    return {mean, scale};
  }
  const auto add = [&](const auto& values) {
    layer.statistics.add(std::span(values), channels[0]);
  };
  std::visit(add, numbers_of(s.device(), x.value()));
  return {mean, scale};
}

}  // namespace glia
