#include "glia/compiled/loops.hpp"

namespace glia::cpu_loops {

[[gnu::used]] static constexpr auto elementwise_in_float =
    loops_of<float, detail::host_loops<float>, arrangement<float>, indexing<float>,
             elementwise<float>, classification<float>, normalizing<float>, updates<float>>();

}  // namespace glia::cpu_loops
