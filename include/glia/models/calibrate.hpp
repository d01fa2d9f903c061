#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/backends/program.hpp"
#include "glia/backends/recorder.hpp"
#include "glia/core/error.hpp"
#include "glia/core/xtensor.hpp"
#include "glia/data/dataset.hpp"
#include "glia/graph/improve.hpp"
#include "glia/graph/passes.hpp"
#include "glia/graph/quantization.hpp"
#include "glia/graph/uses.hpp"
#include "glia/models/model_core.hpp"
#include "glia/models/number_histogram.hpp"
#include "glia/models/prepared.hpp"

namespace glia {

/// The options of `calibrate`.
struct calibrate_options {
  /// Largest allowed change of the outputs on the samples: the root mean square of the change,
  /// divided by the root mean square of the outputs. The products with the largest errors stay in
  /// floating point, so that the change does not exceed this limit.
  double tolerance = 0.1;
  /// Number of samples in a batch, at least 1. Smaller batches need less memory.
  std::size_t batch_size = 32;
  std::size_t samples = 256;  ///< Number of samples from a data set, at equal distances.
};

namespace detail {

/// Runs a model's graph on samples and measures the inputs of its products (matrix products and
/// convolutions).
template <class Model>
class calibration {
 public:
  calibration(const Model& net, std::span<const float> samples, const calibrate_options& options)
      : net_(&net), samples_(samples), options_(options) {
    const std::size_t count = samples.size() / net.sample_shape().size();
    rows_ = std::min(options.batch_size, count);
    batches_ = count / rows_;
  }

  [[nodiscard]] quantization run() {
    quantization result;
    result.products = look_at_products();
    const std::vector<float> expected = outputs(net_->prepare({.batch_size = rows_}));
    for (quantized_product& product : result.products) {
      const prepared alone = net_->prepare({.products = {product}}, {.batch_size = rows_});
      product.error = computes_integers(alone) ? distance(outputs(alone), expected)
                                               : std::numeric_limits<double>::infinity();
    }
    choose(result, expected);
    return result;
  }

 private:
  struct seen_product {
    quantized_product product;
    value_id x;
    value_id w;
  };

  /// Whether a prepared model computes a product with integers. Always true on backends without
  /// integer kernels, which compute quantized products in float.
  [[nodiscard]] bool computes_integers(const prepared& ready) {
    return !has_fused<kernels::quantized_chain>(net_->device()) ||
           std::any_of(ready.calls().nodes().begin(), ready.calls().nodes().end(),
                       [](const graph_node& node) {
                         return node.kernel.as<kernels::quantized_chain>() != nullptr;
                       });
  }

  /// Finds all products and the ranges of their factors.
  [[nodiscard]] std::vector<quantized_product> look_at_products() {
    const recorder recorded = net_->core().recorded(model_part::whole, rows_);
    graph g = recorded.recorded();
    prune(g);
    passes::fold_scaling(g, fixed_values(g, {0}));
    const std::vector<bool> fixed = fixed_values(g, {0});
    const graph_uses uses(g);
    // Skips kernels that only change the shape and copy nothing.
    const auto source = [&](value_id id) {
      while (uses.maker(id) != graph_uses::no_node) {
        const graph_node& maker = g.nodes()[uses.maker(id)];
        if (!maker.kernel.relabels(g.specs(maker.operands))) {
          break;
        }
        id = maker.operands[0];
      }
      return id;
    };
    std::vector<seen_product> products;
    std::map<value_id, number_histogram> inputs;
    std::map<value_id, std::vector<float>> weights;
    for (const passes::product_place& place : passes::fixed_products(g, fixed)) {
      const graph_node& node = g.nodes()[place.node];
      const value_id x = source(node.operands[0]);
      const value_id w = source(node.operands[1]);
      const std::size_t outputs = g.spec(node.operands[1]).shape.back();
      products.push_back({{place.layer, place.number, 1, 0, std::vector<float>(outputs), 0}, x, w});
      inputs[x];
      weights[w];
    }
    const auto look_at = [&](value_id id, const tensor& value) {
      const auto input = inputs.find(id);
      const auto weight = weights.find(id);
      if (input != inputs.end()) {
        input->second.add(numbers_of(value));
      }
      if (weight != weights.end() && weight->second.empty()) {
        weight->second = numbers_of(value);
      }
    };
    const program run(g, net_->device());
    for (int pass = 0; pass < 2; ++pass) {  // first the ranges, then the histograms
      for (std::size_t batch = 0; batch < batches_; ++batch) {
        run_with(run, g, batch, look_at);
      }
      for (auto& [id, input] : inputs) {
        input.end_pass();
      }
    }
    std::vector<quantized_product> result;
    for (seen_product& entry : products) {
      const byte_scale range = inputs.at(entry.x).best_bytes();
      entry.product.input_scale = range.scale;
      entry.product.input_zero = range.zero;
      set_scales(weights.at(entry.w), entry.product.weight_scales);
      result.push_back(std::move(entry.product));
    }
    return result;
  }

  template <class LookAt>
  void run_with(const program& run, const graph& g, std::size_t batch, const LookAt& look_at) {
    std::vector<tensor> values{
        net_->device().samples_from_host(batch_at(batch), batch_of(rows_, net_->sample_shape()))};
    for (const parameter& p : net_->parameters()) {
      values.push_back(p.value);
    }
    std::vector<tensor*> inputs;
    for (std::size_t i = 0; i < values.size(); ++i) {
      look_at(g.inputs()[i].value, values[i]);
      inputs.push_back(&values[i]);
    }
    tensor y;
    const auto probe = [&](const graph_node& node, std::span<const tensor* const> results) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (node.results[i] != no_value) {
          look_at(node.results[i], *results[i]);
        }
      }
    };
    const probe_function looks(probe);
    run.run(inputs, std::span(&y, 1), {}, &looks);
  }

  [[nodiscard]] std::span<const float> batch_at(std::size_t batch) const {
    const std::size_t size = rows_ * net_->sample_shape().size();
    return samples_.subspan(batch * size, size);
  }

  [[nodiscard]] std::vector<float> numbers_of(const tensor& value) const {
    if (value.type() != element::real) {
      return {};
    }
    std::vector<float> numbers(value.shape().size());
    net_->device().to_host(value, std::span<float>(numbers));
    return numbers;
  }

  /// Computes the scale of each output: the largest absolute weight of the output, divided by 127.
  static void set_scales(std::span<const float> w, std::vector<float>& scales) {
    std::vector<float> largest(scales.size(), 0);
    for (std::size_t i = 0; i < w.size(); ++i) {
      float& maximum = largest[i % largest.size()];
      maximum = std::max(maximum, std::abs(w[i]));
    }
    std::transform(largest.begin(), largest.end(), scales.begin(), [](float maximum) {
      const float scale = maximum / 127;
      return std::isnormal(scale) ? scale : 1;
    });
  }

  [[nodiscard]] std::vector<float> outputs(const prepared& ready) const {
    const std::size_t size = rows_ * net_->output_shape().size();
    std::vector<float> y(batches_ * size);
    for (std::size_t batch = 0; batch < batches_; ++batch) {
      ready.run(batch_at(batch), std::span<float>(y).subspan(batch * size, size));
    }
    return y;
  }

  [[nodiscard]] static double distance(std::span<const float> y, std::span<const float> expected) {
    double changed = 0;
    double total = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double difference = static_cast<double>(y[i]) - static_cast<double>(expected[i]);
      changed += difference * difference;
      total += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
    }
    return changed == 0 ? 0 : std::sqrt(changed / total);
  }

  /// Chooses the products that together change the outputs by at most the tolerance. It takes the
  /// products with the smallest errors first, and adds up the squares of the errors as if they were
  /// independent.
  void choose(quantization& result, std::span<const float> expected) const {
    const std::size_t count = result.products.size();
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return result.products[a].error < result.products[b].error;
    });
    std::size_t accepted = 0;
    for (double sum = 0; accepted < count; ++accepted) {
      sum += std::pow(result.products[order[accepted]].error, 2);
      if (!(std::sqrt(sum) <= options_.tolerance)) {
        break;
      }
    }
    quantization chosen;
    for (;; accepted -= (accepted + 9) / 10) {  // fewer products if the errors are not independent
      std::vector<bool> selected(count, false);
      for (std::size_t i = 0; i < accepted; ++i) {
        selected[order[i]] = true;
      }
      chosen.products.clear();
      for (std::size_t i = 0; i < count; ++i) {
        if (selected[i]) {
          chosen.products.push_back(result.products[i]);
        }
      }
      chosen.error = distance(outputs(net_->prepare(chosen, {.batch_size = rows_})), expected);
      if (accepted == 0 || chosen.error <= options_.tolerance) {
        break;
      }
    }
    chosen.left_in_float = count - accepted;
    result = std::move(chosen);
  }

  const Model* net_;
  std::span<const float> samples_;
  calibrate_options options_;
  std::size_t rows_ = 0;
  std::size_t batches_ = 0;
};

}  // namespace detail

/// Computes the scales with which a model can run its matrix products and convolutions with 8-bit
/// integers (post-training quantization).
///
///     const auto eight_bits = glia::calibrate(net, training_data);
///     const auto ready = net.prepare(eight_bits, {.batch_size = 1});
///
/// It runs the model on a few hundred typical samples (N, ...sample), which need no targets. The
/// samples are an xtensor expression or a data set. Weights get a scale for each output. The inputs
/// of a product get the range with the smallest mean squared error on the samples.
///
/// A product stays in floating point if the backend cannot compute it with integers, or if it would
/// change the outputs too much; see `calibrate_options::tolerance`. Samples at the end that do not
/// fill a batch are not used.
///
/// Throws `value_error` if there are no samples, if the batch size is 0 or if the tolerance is
/// negative, and `data_error` if an input of a product is infinite or NaN.
template <class Model, class Expression>
[[nodiscard]] quantization calibrate(const Model& net, const xt::xexpression<Expression>& samples,
                                     const calibrate_options& options = {}) {
  const xt::xarray<float>& x = samples.derived_cast();
  const shape extents(x.shape().begin(), x.shape().end());
  static_cast<void>(net.core().require_inputs(extents));
  require<value_error>(extents[0] > 0 && options.batch_size > 0 && options.tolerance >= 0,
                       "calibrate: expected at least 1 sample, a batch_size of at least 1 and a "
                       "tolerance of at least 0, got ",
                       extents[0], " samples, ", options.batch_size, " and ", options.tolerance);
  // Training on another thread does not change the copy.
  const Model copy(net);  // NOLINT(performance-unnecessary-copy-initialization)
  return detail::calibration<Model>(copy, {x.data(), x.size()}, options).run();
}

/// Calibrates with `calibrate_options::samples` samples of a data set, taken at equal distances.
template <class Model, dataset D>
[[nodiscard]] quantization calibrate(const Model& net, const D& data,
                                     const calibrate_options& options = {}) {
  const std::size_t count = std::min<std::size_t>(options.samples, data.size());
  const shape extents = batch_of(count, data.input_shape());
  xt::xarray<float> x(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
  const std::size_t size = data.input_shape().size();
  for (std::size_t i = 0; i < count; ++i) {
    data.input(i * data.size() / count, std::span<float>(x.data() + i * size, size));
  }
  return calibrate(net, x, options);
}

}  // namespace glia
