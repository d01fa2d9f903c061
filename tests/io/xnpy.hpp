#pragma once

// xtensor's own reader and writer of .npy, where its releases have it.
#if __has_include(<xtensor/io/xnpy.hpp>)
#include <xtensor/io/xnpy.hpp>
#else
#include <xtensor/xnpy.hpp>
#endif
