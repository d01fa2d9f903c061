#pragma once

#include "glia/data/dataset_view.hpp"
#include "glia/training/device_state.hpp"
#include "glia/training/fit_options.hpp"
#include "glia/training/history.hpp"
#include "glia/training/training_job.hpp"
#include "glia/training/training_step.hpp"

namespace glia::detail {

/// Trains for the epochs of the options; see trainer::fit. `validation` can be null.
[[nodiscard]] history fit(const training_job& job, device_state& state, training_step& steps,
                          const fit_options& options, const dataset_view& train,
                          const dataset_view* validation);

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/training/training_loop_impl.hpp"
#endif
