// ONNX files as descriptions, and models as ONNX files.

GLIA_TEMPLATE variable<GLIA_R> onnx_model::operator()(scope<GLIA_R>&,
                                                      const variable<GLIA_R>&) const;
GLIA_TEMPLATE ::onnx::ModelProto onnx::message_of<GLIA_B>(const model_core<GLIA_B>&,
                                                          const description_ref<GLIA_R>&,
                                                          const onnx_options&);
