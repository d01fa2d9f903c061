#include "glia/compiled/loops.hpp"

namespace glia::cpu_loops {

[[gnu::used]] static constexpr auto convolution_in_float =
    loops_of<float, convolution<float>, convolution_chain<float>, pooled_convolution<float>,
             pooling<float>>();

}  // namespace glia::cpu_loops
