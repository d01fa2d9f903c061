#include "glia/backends/about_impl.hpp"
#include "glia/compiled/loops.hpp"

namespace glia {

template class cpu_backend<float>;
#ifndef GLIA_COMPILED_FLOAT_ALONE
template class cpu_backend<double>;
#endif

namespace cpu_loops {

[[gnu::used]] static constexpr auto products_in_float =
    loops_of<float, packing<float>, products<float>, recurrence<float>, attention<float>,
             quantization<float>>();
#ifndef GLIA_COMPILED_FLOAT_ALONE
[[gnu::used]] static constexpr auto products_in_double =
    loops_of<double, packing<double>, products<double>, recurrence<double>, attention<double>,
             quantization<double>>();
#endif

}  // namespace cpu_loops

}  // namespace glia
