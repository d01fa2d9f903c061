#include "glia/models/copy_parameters_impl.hpp"
#include "glia/models/grad_cam_impl.hpp"
#include "glia/models/inference_impl.hpp"
#include "glia/models/inner_values_impl.hpp"
#include "glia/models/model_core_impl.hpp"
#include "glia/models/stream_impl.hpp"
#include "glia/models/summary_impl.hpp"

namespace glia {

#define GLIA_PREDICTS(T)                                                                  \
  template void model_core::require_integers(std::span<const T>, model_part) const;       \
  template void model_core::predict(std::span<const T>, std::span<T>, std::size_t) const; \
  template void model_core::predict_batch(std::span<const T>, std::span<T>) const;        \
  template detail::inner_values<T> detail::compute_inner_values(                          \
      const model_core&, std::span<const T>, std::size_t, std::size_t, std::string_view,  \
      const detail::model_place&, const detail::score_gradients*);
GLIA_PREDICTS(float)
GLIA_PREDICTS(double)
#undef GLIA_PREDICTS

}  // namespace glia
