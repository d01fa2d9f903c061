// Recording descriptions, and running what was recorded.

GLIA_TEMPLATE class GLIA_R;
GLIA_TEMPLATE class program<GLIA_B>;
GLIA_TEMPLATE class tape<GLIA_R>;
GLIA_TEMPLATE class gradients<GLIA_R>;
GLIA_TEMPLATE class scope<GLIA_R>;
