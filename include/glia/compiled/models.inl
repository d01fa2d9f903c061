// What the compiled target holds of models and training. GLIA_TEMPLATE is `template` where it is
// compiled and `extern template` where it is used, GLIA_B the backend and GLIA_R its recorder.

GLIA_TEMPLATE class host_tensor<GLIA_B::value_type>;
GLIA_TEMPLATE class host_backend<cpu_kernels<GLIA_B::value_type>>;
GLIA_TEMPLATE class GLIA_R;
GLIA_TEMPLATE class program<GLIA_B>;
GLIA_TEMPLATE class tape<GLIA_R>;
GLIA_TEMPLATE class gradients<GLIA_R>;
GLIA_TEMPLATE class scope<GLIA_R>;
GLIA_TEMPLATE class inference<GLIA_B>;
GLIA_TEMPLATE class inference_cache<GLIA_B>;
GLIA_TEMPLATE class prepared<GLIA_B>;
GLIA_TEMPLATE class model_core<GLIA_B>;
GLIA_TEMPLATE void model_core<GLIA_B>::predict(const description_ref<GLIA_R>&,
                                               std::span<const float>, std::span<float>,
                                               std::size_t) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict(const description_ref<GLIA_R>&,
                                               std::span<const double>, std::span<double>,
                                               std::size_t) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict_batch(const description_ref<GLIA_R>&,
                                                     std::span<const float>,
                                                     std::span<float>) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict_batch(const description_ref<GLIA_R>&,
                                                     std::span<const double>,
                                                     std::span<double>) const;
GLIA_TEMPLATE model_plan detail::plan<GLIA_B>(
    function_ref<variable<GLIA_R>(scope<GLIA_R>&, variable<GLIA_R>)>, const shape&);
GLIA_TEMPLATE class running_scores<GLIA_B>;
GLIA_TEMPLATE class step_program<GLIA_B>;
GLIA_TEMPLATE class score_program<GLIA_B>;
GLIA_TEMPLATE class trainer_core<GLIA_B>;
GLIA_TEMPLATE scores detail::evaluate<GLIA_B>(const model_core<GLIA_B>&,
                                              const description_ref<GLIA_R>&, const dataset_view&,
                                              const loss_ref<GLIA_R>&, const evaluate_options&);
GLIA_TEMPLATE shape detail::outputs_for<GLIA_B>(const model_core<GLIA_B>&, const dataset_view&);
GLIA_TEMPLATE void detail::predict<GLIA_B>(const model_core<GLIA_B>&,
                                           const description_ref<GLIA_R>&, const dataset_view&,
                                           std::size_t, std::span<float>);
GLIA_TEMPLATE std::optional<row_store> detail::frozen_rows<GLIA_B>(
    const model_core<GLIA_B>&, const description_ref<GLIA_R>&, const dataset_view&,
    const std::string&, const frozen_output_options&, std::ostream*);
