#pragma once

// Assertions compile faster where an exception ends the whole case, which says where it was.
#define CATCH_CONFIG_FAST_COMPILE

// The tests build with Catch2 2 and 3 alike; this header hides where they differ.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

/// Ends a test case that cannot run here; the test command reports it as skipped, with the reason.
#define GLIA_SKIP(reason)                          \
  do {                                             \
    std::cout << "[skipped] " << (reason) << '\n'; \
    return;                                        \
  } while (false)
