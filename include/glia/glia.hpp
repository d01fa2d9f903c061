#pragma once

/// Everything that a program needs to define, train and run a model. This header does not include
/// the readers and writers of files (glia/io/), the model zoo (glia/models/zoo/), the confusion
/// matrix, and the optional components. They have their own headers, so that programs without them
/// compile faster.

#include "glia/backends/about.hpp"
#include "glia/backends/cpu.hpp"
#include "glia/backends/reference.hpp"
#include "glia/compiled/compiled.hpp"
#include "glia/core/build_options.hpp"
#include "glia/core/version.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/data.hpp"
#include "glia/layers/layers.hpp"
#include "glia/losses/losses.hpp"
#include "glia/models/copy_parameters.hpp"
#include "glia/models/forecast.hpp"
#include "glia/models/grad_cam.hpp"
#include "glia/models/input_gradient.hpp"
#include "glia/models/layer_output.hpp"
#include "glia/models/model.hpp"
#include "glia/models/predict_by_name.hpp"
#include "glia/ops/ops.hpp"
#include "glia/optimizers/optimizers.hpp"
#include "glia/profiling/memory.hpp"
#include "glia/trainer.hpp"
#include "glia/training/adapt.hpp"
#include "glia/training/evaluate.hpp"
#include "glia/training/history.hpp"
