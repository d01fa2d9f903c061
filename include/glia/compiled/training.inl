// Training and evaluation on the backend GLIA_B.

GLIA_TEMPLATE class running_scores<GLIA_B>;
GLIA_TEMPLATE class step_program<GLIA_B>;
GLIA_TEMPLATE class score_program<GLIA_B>;
GLIA_TEMPLATE class trainer_core<GLIA_B>;
GLIA_TEMPLATE scores detail::evaluate<GLIA_B>(const model_core<GLIA_B>&,
                                              const description_ref<recorder>&, const dataset_view&,
                                              const loss_ref<recorder>&, const evaluate_options&);
GLIA_TEMPLATE std::optional<row_store> detail::frozen_rows<GLIA_B>(
    const model_core<GLIA_B>&, const description_ref<recorder>&, const dataset_view&,
    const std::string&, const frozen_output_options&, std::ostream*);
