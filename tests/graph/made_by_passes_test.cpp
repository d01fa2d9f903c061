#include <glia/graph/made_by_passes.hpp>

#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("the cpu has the loops of every basic and every fused kernel") {
  const auto all_run = []<class... Kernels>(glia::kernel_list<Kernels...>) {
    return ((glia::detail::table_of<Kernels>.on_cpu != nullptr) && ...);
  };
  CHECK(all_run(glia::basic_kernels{}));
  CHECK(all_run(glia::fused_kernels{}));
}

TEST_CASE("a pass makes only kernels that are listed for the kernel that it replaces") {
  const glia::any_kernel dense = kernels::dense{};
  CHECK(dense.made_into(kernels::packed_dense{}) == glia::any_kernel(kernels::packed_dense{}));
  CHECK(dense.made_into(kernels::dense{{glia::unary_function::relu}}).as<kernels::dense>() !=
        nullptr);
  CHECK_THROWS_WITH(dense.made_into(kernels::conv2d{}),
                    "graph: a pass turns the kernel 'dense' into 'conv2d', which "
                    "graph/made_by_passes.hpp does not list");
}
