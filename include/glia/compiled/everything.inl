// For one GLIA_NUMBER; see models.inl.

#define GLIA_B cpu<GLIA_NUMBER>
#define GLIA_R recorder<cpu<GLIA_NUMBER>>
#include "glia/compiled/layers.inl"
#include "glia/compiled/models.inl"
#undef GLIA_R
#undef GLIA_B
