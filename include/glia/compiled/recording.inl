// Recording descriptions, and running what was recorded.

GLIA_TEMPLATE class recorder<GLIA_B>;
GLIA_TEMPLATE class program<GLIA_B>;
GLIA_TEMPLATE class tape<recorder<GLIA_B>>;
GLIA_TEMPLATE class gradients<recorder<GLIA_B>>;
GLIA_TEMPLATE class scope<recorder<GLIA_B>>;
