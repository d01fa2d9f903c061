#pragma once

/// Marks functions whose bodies are in glia::compiled. It expands to `inline` if a program compiles
/// them itself. The declaration of a virtual function needs it as well: a class whose first virtual
/// function is not inline has its table of functions, and all code that the table reaches, in every
/// object file.
#ifdef GLIA_COMPILED
#define GLIA_INLINE
#else
#define GLIA_INLINE inline
#endif
