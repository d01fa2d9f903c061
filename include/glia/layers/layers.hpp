#pragma once

#include "glia/layers/activation.hpp"
#include "glia/layers/bidirectional.hpp"
#include "glia/layers/context.hpp"
#include "glia/layers/conv1d.hpp"
#include "glia/layers/conv1d_transpose.hpp"
#include "glia/layers/conv2d.hpp"
#include "glia/layers/conv2d_transpose.hpp"
#include "glia/layers/conv3d.hpp"
#include "glia/layers/dense.hpp"
#include "glia/layers/dropout.hpp"
#include "glia/layers/embedding.hpp"
#include "glia/layers/feature_mask.hpp"
#include "glia/layers/frozen.hpp"
#include "glia/layers/gaussian_noise.hpp"
#include "glia/layers/group_norm.hpp"
#include "glia/layers/gru.hpp"
#include "glia/layers/identity.hpp"
#include "glia/layers/initializer.hpp"
#include "glia/layers/inputs.hpp"
#include "glia/layers/lambda.hpp"
#include "glia/layers/layer_stack.hpp"
#include "glia/layers/lstm.hpp"
#include "glia/layers/masking.hpp"
#include "glia/layers/multi_head_attention.hpp"
#include "glia/layers/named.hpp"
#include "glia/layers/normalization.hpp"
#include "glia/layers/outputs.hpp"
#include "glia/layers/parallel.hpp"
#include "glia/layers/pooling.hpp"
#include "glia/layers/pooling1d.hpp"
#include "glia/layers/pooling3d.hpp"
#include "glia/layers/position_embedding.hpp"
#include "glia/layers/positional_encoding.hpp"
#include "glia/layers/preprocessing.hpp"
#include "glia/layers/recurrence.hpp"
#include "glia/layers/reshape.hpp"
#include "glia/layers/residual.hpp"
#include "glia/layers/resize.hpp"
#include "glia/layers/separable_conv2d.hpp"
#include "glia/layers/sequential.hpp"
#include "glia/layers/shared.hpp"
#include "glia/layers/simple_rnn.hpp"
#include "glia/layers/spatial_dropout.hpp"
#include "glia/layers/time_distributed.hpp"
#include "glia/layers/unembedding.hpp"
#include "glia/layers/window1d.hpp"

namespace glia::detail {

/// Types of layers.
template <class... Layers>
struct layer_list {};

/// The layers of glia that are no templates. `open` makes them from their names in files.
using all_layers =
    layer_list<avg_pool1d, avg_pool2d, avg_pool3d, batch_norm, conv1d, conv1d_transpose, conv2d,
               conv2d_transpose, conv3d, crop2d, dense, depthwise_conv2d, dropout, embedding,
               flatten, gaussian_noise, global_avg_pool1d, global_avg_pool2d, global_avg_pool3d,
               global_max_pool1d, global_max_pool2d, global_max_pool3d, group_norm, gru, identity,
               layer_norm, lstm, masking, max_pool1d, max_pool2d, max_pool3d, multi_head_attention,
               one_hot, periodic_encoding, position_embedding, positional_encoding, reshape,
               rms_norm, separable_conv2d, simple_rnn, spatial_dropout, standardize, unembedding,
               upsample2d, zero_pad2d>;

}  // namespace glia::detail
