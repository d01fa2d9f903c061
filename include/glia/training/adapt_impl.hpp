#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/layers/adaptation.hpp"
#include "glia/layers/scope.hpp"
#include "glia/training/adapt.hpp"
#include "glia/training/dataset_batches.hpp"

namespace glia::detail {

GLIA_INLINE void adapt(model_core& net, const dataset_view& data, std::size_t batch_size) {
  require<value_error>(data.size() > 0, "adapt: expected at least one sample, got none");
  require_same_shape("adapt: a sample", net.sample_shape(), data.input_shape());
  const model_access::training alone(net.access());
  parameter_list parameters = net.parameters();  // copies, so that an error changes nothing
  adaptation collected;
  std::vector<gradient_slot> slots;
  for_each_batch(data, batch_size_for(batch_size, net.sample_shape()), [&](const batch& b) {
    tape unused(net.device());
    scope s(unused, parameters, slots, collected);
    const tensor x =
        net.device().samples_from_host(std::span<const float>(b.inputs), b.input_shape);
    static_cast<void>(net.run(s, unused.constant(x)));
    return true;
  });
  require<value_error>(!collected.empty(),
                       "adapt: the model has no layer that is fitted to data, such as "
                       "glia::standardize");
  net.parameters() = std::move(parameters);
}

}  // namespace glia::detail
