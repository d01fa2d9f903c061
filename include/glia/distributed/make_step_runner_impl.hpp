#pragma once

#include <memory>

#include "glia/core/inline.hpp"
#include "glia/distributed/make_step_runner.hpp"
#include "glia/distributed/shared_step.hpp"
#include "glia/training/local_step.hpp"

namespace glia {

GLIA_INLINE std::shared_ptr<step_runner> make_step_runner(const distribution& shared) {
  if (shared.is_shared()) {
    return std::make_shared<shared_step>(shared);
  }
  return std::make_shared<local_step>();
}

}  // namespace glia
