#include "glia/models/copy_parameters_impl.hpp"
#include "glia/models/inference_impl.hpp"
#include "glia/models/model_core_impl.hpp"

namespace glia {

#define GLIA_PREDICTS(T)                                                                  \
  template void model_core::require_integers(std::span<const T>, model_part) const;       \
  template void model_core::predict(std::span<const T>, std::span<T>, std::size_t) const; \
  template void model_core::predict_batch(std::span<const T>, std::span<T>) const;
GLIA_PREDICTS(float)
GLIA_PREDICTS(double)
#undef GLIA_PREDICTS

}  // namespace glia
