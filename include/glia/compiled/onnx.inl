// Reading ONNX files as descriptions, and writing models as ONNX files.

GLIA_TEMPLATE variable<recorder<GLIA_B>> onnx_model::operator()(
    scope<recorder<GLIA_B>>&, const variable<recorder<GLIA_B>>&) const;
GLIA_TEMPLATE ::onnx::ModelProto onnx::message_of<GLIA_B>(const model_core<GLIA_B>&,
                                                          const description_ref<recorder<GLIA_B>>&,
                                                          const onnx_options&);
