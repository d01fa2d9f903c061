#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "conforming.hpp"

using test::require_conformance;

TEST_CASE("the reference in float, the cpu in both and its lanes conform") {
  const glia::cpu<float> device;
  const auto& backend = static_cast<const glia::cpu_backend<float>&>(device.implementation());
  const glia::device lane(
      std::shared_ptr<const glia::backend>(backend.shared_from_this(), &backend.lane(3)));
  require_conformance({glia::reference<float>(), device, lane, glia::cpu<double>()});
}

TEST_CASE("cpu conforms in float on three threads at every instruction set that is here") {
  for (const auto level : {glia::cpu_loops::isa::baseline, glia::cpu_loops::isa::avx2}) {
    if (level < glia::cpu_loops::best_isa()) {
      INFO("instruction set " << static_cast<int>(level));
      require_conformance({glia::cpu<float>({.threads = 3, .isa = level})});
    }
  }
}
