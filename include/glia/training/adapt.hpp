#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "glia/data/dataset_view.hpp"
#include "glia/models/model_core.hpp"

namespace glia {

/// Options of `adapt`.
struct adapt_options {
  std::size_t batch_size = 0;  ///< Samples per batch; 0 chooses a number for the sample's size.
};

namespace detail {

/// Does what `glia::adapt` does, for the part of a model that does not depend on its type.
void adapt(model_core& net, const dataset_view& data, std::size_t batch_size);

/// Returns the names of the layers that `adapt` must fit, if it has not run and their states have
/// their initial values. States that were loaded or set count as fitted.
[[nodiscard]] std::vector<std::string> layers_to_adapt(const model_core& net);

}  // namespace detail

/// Fits the layers of a model that preprocess data, such as `standardize`, to a data set.
///
///     const auto [train, test] = glia::train_test_split(data);
///     glia::adapt(net, train);
///
/// Call it once, before the training, with the training data only: statistics of test data would
/// make the test score too good. Each layer is fitted to its own inputs, which are computed by the
/// layers before it; a layer with `invert` is fitted to the targets. The model runs once for each
/// batch, and again if there are several fitted layers, because one may follow another.
///
/// Keras: `adapt` of preprocessing layers; scikit-learn: `fit` of a transformer. Throws
/// `value_error` if the model has no layer that is fitted to data, if the data set has no samples,
/// or if another thread trains the model. Throws `shape_error` if the samples do not have the
/// model's shape, or if a layer with `invert` gets targets of another shape than its output, and
/// `data_error` if a fitted layer receives infinite values, or if a layer such as `embedding` needs
/// integers and gets other numbers. If it throws, the model is unchanged.
template <class Model, class Data>
void adapt(Model& net, const Data& data, const adapt_options& options = {}) {
  static_assert(!std::is_const_v<Model>,
                "adapt: the model is const, but its parameters change; declare it without const");
  detail::adapt(net.core(), dataset_view(data), options.batch_size);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/adapt_impl.hpp"
#endif
