// Models and training on the backend GLIA_B. GLIA_TEMPLATE is `template` where they are compiled
// and `extern template` where they are used.

#include "glia/compiled/inference.inl"
#include "glia/compiled/program.inl"
#include "glia/compiled/training.inl"
