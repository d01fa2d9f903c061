#include "glia/compiled/loops.hpp"

namespace glia::cpu_loops {

[[gnu::used]] static constexpr auto convolution_in_double =
    loops_of<double, convolution<double>, convolution_chain<double>, pooled_convolution<double>,
             pooling<double>>();

}  // namespace glia::cpu_loops
