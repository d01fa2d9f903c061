// What the compiled target holds of layers, losses and optimizers; see models.inl. What is not
// listed is compiled where it is used.

#define GLIA_LAYER(layer)                                                           \
  GLIA_TEMPLATE variable<GLIA_R> scope<GLIA_R>::run(const layer&, variable<GLIA_R>, \
                                                    std::string_view, std::size_t);
GLIA_LAYER(activation)
GLIA_LAYER(identity)
GLIA_LAYER(dense)
GLIA_LAYER(conv2d)
GLIA_LAYER(dropout)
GLIA_LAYER(batch_norm)
GLIA_LAYER(layer_norm)
GLIA_LAYER(max_pool2d)
GLIA_LAYER(avg_pool2d)
GLIA_LAYER(global_max_pool2d)
GLIA_LAYER(global_avg_pool2d)
GLIA_LAYER(reshape)
GLIA_LAYER(flatten)
#undef GLIA_LAYER

#define GLIA_LOSS(loss)                                            \
  GLIA_TEMPLATE variable<GLIA_R> loss_ref<GLIA_R>::apply_as<loss>( \
      const void*, variable<GLIA_R>, const targets<GLIA_R>&, const std::vector<row_part>&);
GLIA_LOSS(softmax_cross_entropy)
GLIA_LOSS(binary_cross_entropy)
GLIA_LOSS(mean_squared_error)
GLIA_LOSS(mean_absolute_error)
GLIA_LOSS(huber)
GLIA_LOSS(hinge)
#undef GLIA_LOSS

#define GLIA_OPTIMIZER(rule)                                                                 \
  GLIA_TEMPLATE optimizer_ref<GLIA_R>::numbers_room optimizer_ref<GLIA_R>::numbers_as<rule>( \
      const void*, std::size_t, double);                                                     \
  GLIA_TEMPLATE void optimizer_ref<GLIA_R>::apply_as<rule>(                                  \
      const void*, const GLIA_R&, tensor&, tensor, std::vector<tensor>&, const tensor&);
GLIA_OPTIMIZER(sgd)
GLIA_OPTIMIZER(adam)
GLIA_OPTIMIZER(adamw)
GLIA_OPTIMIZER(rmsprop)
GLIA_OPTIMIZER(adagrad)
#undef GLIA_OPTIMIZER
