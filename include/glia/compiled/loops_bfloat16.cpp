#include "glia/backends/bfloat16_impl.hpp"

namespace glia::cpu_loops {

template const rounded_loops<float>* find_bfloat16_loops<float>(isa level);
template const rounded_loops<float>* find_bfloat16_tile_loops<float>(isa level);

}  // namespace glia::cpu_loops
