#include "glia/onnx.hpp"
#include "glia/glia.hpp"
#include "glia/onnx/reading/read_graph.hpp"
#include "glia/onnx/writing/write_graph.hpp"
#include "glia/onnx/writing/write_message.hpp"

namespace glia {

template variable<recorder> onnx_model::operator()(scope<recorder>&,
                                                   const variable<recorder>&) const;

#define GLIA_TEMPLATE template
#define GLIA_PART "glia/compiled/onnx.inl"
#include "glia/compiled/each_backend.inl"
#undef GLIA_PART
#undef GLIA_TEMPLATE

}  // namespace glia
