#pragma once

#include "glia/optimizers/adagrad.hpp"
#include "glia/optimizers/adam.hpp"
#include "glia/optimizers/gradient_accumulation.hpp"
#include "glia/optimizers/gradient_transforms.hpp"
#include "glia/optimizers/optimizer.hpp"
#include "glia/optimizers/rmsprop.hpp"
#include "glia/optimizers/schedule.hpp"
#include "glia/optimizers/sgd.hpp"
