#include "glia/backends/bfloat16_impl.hpp"

namespace glia::cpu_loops {

template const rounded_loops* find_bfloat16_loops<float>(isa level);

}  // namespace glia::cpu_loops
