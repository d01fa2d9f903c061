// glia's losses and optimizers.

#define GLIA_LOSS(loss)                                                                  \
  GLIA_TEMPLATE variable any_loss::apply_as<loss>(const void*, variable, const targets&, \
                                                  const std::vector<row_part>&);
GLIA_LOSS(softmax_cross_entropy)
GLIA_LOSS(sigmoid_cross_entropy)
GLIA_LOSS(mean_squared_error)
GLIA_LOSS(mean_absolute_error)
GLIA_LOSS(huber)
GLIA_LOSS(hinge)
GLIA_LOSS(softmax_dice)
GLIA_LOSS(sigmoid_dice)
#undef GLIA_LOSS

#define GLIA_OPTIMIZER(rule)                                                                      \
  GLIA_TEMPLATE any_optimizer::step_numbers any_optimizer::numbers_as<rule>(const void*,          \
                                                                            std::size_t, double); \
  GLIA_TEMPLATE void any_optimizer::apply_as<rule>(const void*, const device&, tensor&, tensor,   \
                                                   std::vector<tensor>&, const tensor&);
GLIA_OPTIMIZER(sgd)
GLIA_OPTIMIZER(adam)
GLIA_OPTIMIZER(adamw)
GLIA_OPTIMIZER(rmsprop)
GLIA_OPTIMIZER(adagrad)
#undef GLIA_OPTIMIZER
