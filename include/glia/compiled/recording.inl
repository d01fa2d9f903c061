// Recording descriptions as graphs, and running these graphs.

GLIA_TEMPLATE class recorder<GLIA_B>;
GLIA_TEMPLATE class program<GLIA_B>;
GLIA_TEMPLATE class tape<recorder<GLIA_B>>;
GLIA_TEMPLATE class gradients<recorder<GLIA_B>>;
GLIA_TEMPLATE class scope<recorder<GLIA_B>>;
