#pragma once

// Says while it compiles what options cost. Messages and no warnings, so that builds which stop at
// warnings go on.
#if !defined(GLIA_QUIET)

// A build without optimisation is what CMake makes unless told otherwise.
#if !defined(__OPTIMIZE__)
#pragma message( \
    "glia is compiled without optimisation, some ten times slower: use -O2 (CMake: \
-DCMAKE_BUILD_TYPE=Release), or define GLIA_QUIET")
#endif

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#pragma message( \
    "glia is compiled without NaN and infinity, which then go unnoticed: drop -ffast-math and \
-ffinite-math-only, or define GLIA_QUIET")
#endif

#endif
