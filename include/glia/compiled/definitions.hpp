#pragma once

// The bodies that glia's headers leave to the compiled target, but for the cpu backend's loops: for
// its sources, and for programs that use it with a backend of their own.

#include "glia/glia.hpp"
#include "glia/graph/program_impl.hpp"
#include "glia/models/inference_impl.hpp"
#include "glia/models/model_core_impl.hpp"
#include "glia/training/evaluate_core_impl.hpp"
#include "glia/training/frozen_outputs_impl.hpp"
#include "glia/training/running_scores_impl.hpp"
#include "glia/training/step_program_impl.hpp"
#include "glia/training/trainer_core_impl.hpp"
