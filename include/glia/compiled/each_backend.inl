// Includes GLIA_PART for each backend that glia::compiled contains.

#define GLIA_B cpu<float>
#include GLIA_PART
#undef GLIA_B

#ifndef GLIA_COMPILED_FLOAT_ALONE
#define GLIA_B cpu<double>
#include GLIA_PART
#undef GLIA_B
#endif
