// Training and evaluation, with glia's own losses and optimizers.

GLIA_TEMPLATE class running_scores<GLIA_B>;
GLIA_TEMPLATE class step_program<GLIA_B>;
GLIA_TEMPLATE class score_program<GLIA_B>;
GLIA_TEMPLATE class trainer_core<GLIA_B>;
GLIA_TEMPLATE scores detail::evaluate<GLIA_B>(const model_core<GLIA_B>&,
                                              const description_ref<recorder<GLIA_B>>&,
                                              const dataset_view&,
                                              const loss_ref<recorder<GLIA_B>>&,
                                              const evaluate_options&);
GLIA_TEMPLATE std::optional<row_store> detail::frozen_rows<GLIA_B>(
    const model_core<GLIA_B>&, const description_ref<recorder<GLIA_B>>&, const dataset_view&,
    const std::string&, const frozen_output_options&, std::ostream*);

#define GLIA_LOSS(loss)                                                                \
  GLIA_TEMPLATE variable<recorder<GLIA_B>> loss_ref<recorder<GLIA_B>>::apply_as<loss>( \
      const void*, variable<recorder<GLIA_B>>, const targets<recorder<GLIA_B>>&,       \
      const std::vector<row_part>&);
GLIA_LOSS(softmax_cross_entropy)
GLIA_LOSS(sigmoid_cross_entropy)
GLIA_LOSS(mean_squared_error)
GLIA_LOSS(mean_absolute_error)
GLIA_LOSS(huber)
GLIA_LOSS(hinge)
#undef GLIA_LOSS

#define GLIA_OPTIMIZER(rule)                                                           \
  GLIA_TEMPLATE optimizer_ref<recorder<GLIA_B>>::numbers_room                          \
  optimizer_ref<recorder<GLIA_B>>::numbers_as<rule>(const void*, std::size_t, double); \
  GLIA_TEMPLATE void optimizer_ref<recorder<GLIA_B>>::apply_as<rule>(                  \
      const void*, const recorder<GLIA_B>&, tensor&, tensor, std::vector<tensor>&, const tensor&);
GLIA_OPTIMIZER(sgd)
GLIA_OPTIMIZER(adam)
GLIA_OPTIMIZER(adamw)
GLIA_OPTIMIZER(rmsprop)
GLIA_OPTIMIZER(adagrad)
#undef GLIA_OPTIMIZER
