#pragma once

#include <string>
#include <string_view>

#include "glia/backends/about.hpp"
#include "glia/backends/cpu/isa/blas.hpp"
#include "glia/backends/cpu/isa/isa.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/products/blas_check.hpp"
#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/processor_name.hpp"
#include "glia/core/thread_pool.hpp"
#include "glia/core/version.hpp"

namespace glia {

namespace detail {

[[nodiscard]] inline std::string_view blas_use_text(cpu_loops::blas_use use) {
  using cpu_loops::blas_use;
  switch (use) {
    case blas_use::used:
      return "used for large products";
    case blas_use::absent:
      return "glia's loops compute all products";
    case blas_use::slower:
      return "not used: glia's loops with AVX-512 are faster";
    case blas_use::unknown_processor:
      return "not used: it has no kernels for this processor";
    case blas_use::wrong:
      break;
  }
  return "not used: it computes wrong products";
}

}  // namespace detail

GLIA_INLINE std::string about() {
  const cpu_loops::isa level = cpu_loops::best_isa();
  return text("glia: ", detail::version_text(), "\nprocessor: ", processor_name(),
              "\ninstruction set: ", cpu_loops::isa_name(level),
              cpu_loops::has_vnni() ? " with VNNI" : "",
              "\nthreads: ", thread_pool::default_threads(), "\nBLAS: ", cpu_loops::blas_name(),
              "; ", detail::blas_use_text(cpu_loops::use_of_blas<float>(level)), '\n');
}

}  // namespace glia
