// Tensors in host memory, and the kernels that run on them.

GLIA_TEMPLATE class host_tensor<GLIA_B::value_type>;
GLIA_TEMPLATE class host_backend<cpu_kernels<GLIA_B::value_type>>;
