// The kernels that the headers of optimizers, losses and layers run directly. The types of other
// kernels are compiled where they are used.

#define GLIA_KERNEL(kernel) GLIA_TEMPLATE const kernel_type& detail::type_of<kernels::kernel>();
GLIA_KERNEL(adagrad)
GLIA_KERNEL(adam)
GLIA_KERNEL(binary)
GLIA_KERNEL(broadcast_to)
GLIA_KERNEL(full)
GLIA_KERNEL(one_hot)
GLIA_KERNEL(pad)
GLIA_KERNEL(reshape)
GLIA_KERNEL(rmsprop)
GLIA_KERNEL(sgd)
GLIA_KERNEL(slice)
GLIA_KERNEL(sum_to)
GLIA_KERNEL(to_index)
GLIA_KERNEL(unary)
GLIA_KERNEL(unary_gradient)
#undef GLIA_KERNEL
