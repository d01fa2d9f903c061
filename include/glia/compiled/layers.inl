// The layers that most networks have. Other layers are compiled where they are used.

#define GLIA_LAYER(layer) \
  GLIA_TEMPLATE variable scope::run(const layer&, variable, std::string_view, std::size_t);
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
