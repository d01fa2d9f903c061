#pragma once

// A build without optimisation is some ten times slower, and what CMake builds unless told
// otherwise. A message and no warning, so that builds which stop at warnings go on.
#if !defined(__OPTIMIZE__) && !defined(GLIA_QUIET)
#pragma message( \
    "glia is compiled without optimisation, some ten times slower: use -O2 (CMake: \
-DCMAKE_BUILD_TYPE=Release), or define GLIA_QUIET")
#endif
