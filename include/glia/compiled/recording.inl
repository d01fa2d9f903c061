// Recording descriptions, whatever the device.

GLIA_TEMPLATE class tape<recorder>;
GLIA_TEMPLATE class gradients<recorder>;
GLIA_TEMPLATE class scope<recorder>;
