#pragma once

#include "glia/losses/cross_entropy.hpp"
#include "glia/losses/dice.hpp"
#include "glia/losses/output_losses.hpp"
#include "glia/losses/regression.hpp"
#include "glia/losses/targets.hpp"
