#pragma once

#include <memory>

#include "glia/distributed/distribution.hpp"
#include "glia/training/step_runner.hpp"

namespace glia {

/// Makes the runner of a training's steps. Throws `value_error` for options that cannot be
/// combined.
[[nodiscard]] std::shared_ptr<step_runner> make_step_runner(const distribution& shared);

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/distributed/make_step_runner_impl.hpp"
#endif
