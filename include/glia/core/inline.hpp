#pragma once

/// Marks functions whose bodies are in glia::compiled. It expands to `inline` if a program compiles
/// them itself.
#ifdef GLIA_COMPILED
#define GLIA_INLINE
#else
#define GLIA_INLINE inline
#endif
