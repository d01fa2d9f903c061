#pragma once

/// Stands before functions of glia's own types whose bodies glia::compiled holds: `inline` where a
/// program compiles them itself.
#ifdef GLIA_COMPILED
#define GLIA_INLINE
#else
#define GLIA_INLINE inline
#endif
