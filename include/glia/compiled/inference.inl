// Models and their predictions.

GLIA_TEMPLATE class inference<GLIA_B>;
GLIA_TEMPLATE class inference_cache<GLIA_B>;
GLIA_TEMPLATE class prepared<GLIA_B>;
GLIA_TEMPLATE class model_core<GLIA_B>;
GLIA_TEMPLATE void model_core<GLIA_B>::predict(const description_ref<recorder>&,
                                               std::span<const float>, std::span<float>,
                                               std::size_t) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict(const description_ref<recorder>&,
                                               std::span<const double>, std::span<double>,
                                               std::size_t) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict_batch(const description_ref<recorder>&,
                                                     std::span<const float>,
                                                     std::span<float>) const;
GLIA_TEMPLATE void model_core<GLIA_B>::predict_batch(const description_ref<recorder>&,
                                                     std::span<const double>,
                                                     std::span<double>) const;
GLIA_TEMPLATE shape detail::outputs_for<GLIA_B>(const model_core<GLIA_B>&, const dataset_view&);
GLIA_TEMPLATE void detail::predict<GLIA_B>(const model_core<GLIA_B>&,
                                           const description_ref<recorder>&, const dataset_view&,
                                           std::size_t, std::span<float>);
