#pragma once

#include "glia/layers/activation.hpp"
#include "glia/layers/combinators.hpp"
#include "glia/layers/conv2d.hpp"
#include "glia/layers/dense.hpp"
#include "glia/layers/dropout.hpp"
#include "glia/layers/initializer.hpp"
#include "glia/layers/layer_stack.hpp"
#include "glia/layers/normalization.hpp"
#include "glia/layers/pooling.hpp"
#include "glia/layers/reshape.hpp"
