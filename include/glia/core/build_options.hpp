#pragma once

// Reports costly compiler options during compilation. These are messages, not warnings, so that
// builds which treat warnings as errors continue.
#if !defined(GLIA_QUIET)

// CMake builds without optimization by default.
#if !defined(__OPTIMIZE__)
#pragma message( \
    "glia is compiled without optimization, about ten times slower: use -O2 (CMake: \
-DCMAKE_BUILD_TYPE=Release), or define GLIA_QUIET")
#endif

#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#pragma message( \
    "glia is compiled without NaN and infinity, so it cannot detect them: drop -ffast-math and \
-ffinite-math-only, or define GLIA_QUIET")
#endif

#endif
