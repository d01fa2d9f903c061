// Compiled graphs.

GLIA_TEMPLATE class program<GLIA_B>;
