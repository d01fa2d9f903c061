#pragma once

#include "glia/data/array_dataset.hpp"
#include "glia/data/batch_loader.hpp"
#include "glia/data/class_balance.hpp"
#include "glia/data/dataset.hpp"
#include "glia/data/idx.hpp"
#include "glia/data/image_bytes.hpp"
#include "glia/data/mnist.hpp"
#include "glia/data/named_arrays.hpp"
#include "glia/data/shard.hpp"
#include "glia/data/split.hpp"
#include "glia/data/subset.hpp"
#include "glia/data/weighted_samples.hpp"
