// Models as ONNX files.

GLIA_TEMPLATE ::onnx::ModelProto onnx::message_of<GLIA_B>(const model_core<GLIA_B>&,
                                                          const description_ref<recorder>&,
                                                          const onnx_options&);
