#include "glia/compiled/loops.hpp"

namespace glia::cpu_loops {

[[gnu::used]] static constexpr auto elementwise_in_double =
    loops_of<double, detail::host_loops<double>, arrangement<double>, indexing<double>,
             elementwise<double>, classification<double>, normalizing<double>, updates<double>>();

}  // namespace glia::cpu_loops
