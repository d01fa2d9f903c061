#pragma once

#include "glia/ops/arrangement.hpp"
#include "glia/ops/dropout.hpp"
#include "glia/ops/elementwise.hpp"
#include "glia/ops/indexing.hpp"
#include "glia/ops/normalization.hpp"
#include "glia/ops/pooling.hpp"
#include "glia/ops/products.hpp"
#include "glia/ops/quantization.hpp"
#include "glia/ops/recurrence.hpp"
#include "glia/ops/reductions.hpp"
#include "glia/ops/softmax.hpp"
#include "glia/ops/tape.hpp"
