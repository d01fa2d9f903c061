#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/backends/backend.hpp"
#include "glia/backends/broadcast_plan.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/memory_pool.hpp"

namespace glia {

/// A backend in host memory: checks shapes, allocates or reuses storage and hands bare pointers to
/// `Kernels`, the loops. `reference` and `cpu` differ in the loops alone.
///
/// `Kernels` provides `value_type`, `name`, `fuses_pooling` and the const member functions called
/// below.
template <class Kernels>
class host_backend {
 public:
  using value_type = typename Kernels::value_type;
  using tensor = host_tensor<value_type>;
  using indices = host_tensor<std::int32_t>;
  using positions = host_tensor<std::uint8_t>;  ///< see pooling_convolution_backend

  template <class... Arguments>
  explicit host_backend(std::in_place_t, Arguments&&... arguments)
      : state_(std::make_shared<state>(std::forward<Arguments>(arguments)...)) {}

  [[nodiscard]] std::string_view name() const { return Kernels::name; }
  [[nodiscard]] const memory_pool& memory() const { return state_->pool; }
  [[nodiscard]] const Kernels& kernels() const { return state_->kernels; }

  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const {
    return copied<tensor>(values, s);
  }
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const {
    return copied<tensor>(values, s);
  }
  [[nodiscard]] indices from_host(std::span<const std::int32_t> values, const shape& s) const {
    return copied<indices>(values, s);
  }
  void to_host(const tensor& x, std::span<float> out) const { copy_out(x, out); }
  void to_host(const tensor& x, std::span<double> out) const { copy_out(x, out); }
  void to_host(const indices& x, std::span<std::int32_t> out) const { copy_out(x, out); }

  [[nodiscard]] tensor full(const shape& s, double value) const {
    tensor y = make(s);
    std::fill_n(y.data(), y.size(), static_cast<value_type>(value));
    return y;
  }
  [[nodiscard]] tensor reshape(tensor x, const shape& s) const {
    require<shape_error>(x.size() == s.size(), "reshape: ", x.shape(), " has ", x.size(),
                         " elements, ", s, " has ", s.size());
    return std::move(x).reshaped(s);
  }

  [[nodiscard]] tensor uninitialized(const shape& s) const { return make(s); }
  [[nodiscard]] tensor rows(const tensor& x, std::size_t first, std::size_t count) const {
    return x.rows(first, count);
  }
  void store_rows(const tensor& rows, std::size_t first, tensor& whole) const {
    std::copy_n(rows.data(), rows.size(), whole.rows(first, rows.shape()[0]).data());
  }

  [[nodiscard]] tensor unary(const unary_map& map, tensor x) const {
    tensor y = reuse(x);
    kernels().unary(map, x.data(), y.data(), y.size());
    return y;
  }
  [[nodiscard]] tensor unary_gradient(const unary_map& map, tensor dy, tensor saved) const {
    const bool needs_saved = saved_for_gradient(map.function) != saved_operand::none;
    if (needs_saved) {
      require_same_shape("unary_gradient", dy.shape(), saved.shape());
    }
    tensor dx = reuse(dy);
    kernels().unary_gradient(map, dy.data(), needs_saved ? saved.data() : nullptr, dx.data(),
                             dx.size());
    return dx;
  }
  [[nodiscard]] tensor binary(binary_function function, tensor a, tensor b) const {
    const shape s = broadcast_shape(a.shape(), b.shape());
    tensor y = a.unique() && a.shape() == s ? a : b.unique() && b.shape() == s ? b : make(s);
    kernels().binary(function, a.data(), b.data(), y.data(),
                     broadcast_plan(s, a.shape(), b.shape()));
    return y;
  }
  [[nodiscard]] tensor broadcast_to(tensor x, const shape& s) const {
    require_broadcastable_to(x.shape(), s);
    if (x.size() == s.size()) {
      return std::move(x).reshaped(s);
    }
    tensor y = make(s);
    kernels().broadcast_to(x.data(), y.data(), broadcast_plan(s, x.shape(), x.shape()));
    return y;
  }
  [[nodiscard]] tensor sum_to(tensor x, const shape& s) const {
    require_broadcastable_to(s, x.shape());
    if (x.size() == s.size()) {
      return std::move(x).reshaped(s);
    }
    tensor y = make(s);
    kernels().sum_to(x.data(), y.data(), y.size(), broadcast_plan(x.shape(), s, s));
    return y;
  }

  [[nodiscard]] tensor matmul(tensor a, tensor b, transpose which) const {
    const matmul_sizes sizes = matmul_rule(a.shape(), b.shape(), which);
    tensor c = make({sizes.m, sizes.n});
    kernels().matmul(a.data(), b.data(), c.data(), sizes, which, memory());
    return c;
  }
  [[nodiscard]] tensor dense(tensor x, tensor w, tensor bias, const unary_map& map) const {
    const matmul_sizes sizes = matmul_rule(x.shape(), w.shape(), transpose::none);
    check_bias("dense", bias, sizes.n);
    tensor y = make({sizes.m, sizes.n});
    kernels().dense(x.data(), w.data(), pointer(bias), map, y.data(), sizes, memory());
    return y;
  }

  [[nodiscard]] tensor conv2d(tensor x, tensor w, tensor bias, const unary_map& map,
                              const window2d& window, std::size_t groups) const {
    const window_sizes sizes = conv2d_rule(x.shape(), w.shape(), window, groups);
    check_bias("conv2d", bias, sizes.o);
    tensor y = make(sizes.output());
    kernels().conv2d(x.data(), w.data(), pointer(bias), map, y.data(), sizes, memory());
    return y;
  }
  [[nodiscard]] tensor conv2d_input_gradient(tensor dy, tensor w, const window2d& window,
                                             std::size_t groups, const shape& input) const {
    const window_sizes sizes = conv2d_rule(input, w.shape(), window, groups);
    require_same_shape("conv2d_input_gradient", sizes.output(), dy.shape());
    tensor dx = make(input);
    kernels().conv2d_input_gradient(dy.data(), w.data(), dx.data(), sizes, memory());
    return dx;
  }
  [[nodiscard]] tensor conv2d_kernel_gradient(tensor x, tensor dy, const window2d& window,
                                              std::size_t groups, const shape& kernel) const {
    const window_sizes sizes = conv2d_rule(x.shape(), kernel, window, groups);
    require_same_shape("conv2d_kernel_gradient", sizes.output(), dy.shape());
    tensor dw = make(kernel);
    kernels().conv2d_kernel_gradient(x.data(), dy.data(), dw.data(), sizes, memory());
    return dw;
  }

  // Only with loops that have the three in one.
  [[nodiscard]] pooled<tensor, positions> conv2d_max_pool2d(tensor x, tensor w, tensor bias,
                                                            const unary_map& map,
                                                            const convolution_pooling& how,
                                                            bool keep_positions) const
      requires(Kernels::fuses_pooling) {
    const window_sizes sizes = conv2d_rule(x.shape(), w.shape(), how.window, how.groups);
    const window_sizes pool = pool_rule(sizes.output(), how.pool);
    check_bias("conv2d_max_pool2d", bias, sizes.o);
    check_fusible(map, how.pool);
    pooled<tensor, positions> result{make(pool.output()), {}};
    if (keep_positions) {
      result.position = positions(memory(), pool.output());
    }
    kernels().conv2d_max_pool2d(x.data(), w.data(), pointer(bias), map, result.output.data(),
                                keep_positions ? result.position.data() : nullptr, sizes, pool,
                                memory());
    return result;
  }
  [[nodiscard]] convolution_gradients<tensor> conv2d_max_pool2d_gradient(
      tensor dy, tensor x, tensor w, const positions& position, const convolution_pooling& how,
      bool to_input) const requires(Kernels::fuses_pooling) {
    const window_sizes sizes = conv2d_rule(x.shape(), w.shape(), how.window, how.groups);
    const window_sizes pool = pool_rule(sizes.output(), how.pool);
    require_same_shape("conv2d_max_pool2d_gradient", pool.output(), dy.shape());
    require_same_shape("conv2d_max_pool2d_gradient", pool.output(), position.shape());
    convolution_gradients<tensor> result{to_input ? make(x.shape()) : tensor{}, make(w.shape()),
                                         make({sizes.o})};
    kernels().conv2d_max_pool2d_gradient(dy.data(), x.data(), w.data(), position.data(),
                                         pointer(result.input), result.kernel.data(),
                                         result.bias.data(), sizes, pool, memory());
    return result;
  }

  // Only with loops that take several convolutions in one.
  [[nodiscard]] tensor conv2d_chain(tensor x, std::span<const chain_link<tensor>> links) const
      requires(Kernels::chains_convolutions) {
    std::array<chain_link<const value_type*>, max_chain> bare;
    std::array<window_sizes, max_chain> sizes;
    require<value_error>(!links.empty() && links.size() <= max_chain,
                         "conv2d_chain: expected 1 to ", max_chain, " convolutions, got ",
                         links.size());
    shape in = x.shape();
    for (std::size_t i = 0; i < links.size(); ++i) {
      const chain_link<tensor>& link = links[i];
      sizes[i] = conv2d_rule(in, link.kernel.shape(), link.window, link.groups);
      check_bias("conv2d_chain", link.bias, sizes[i].o);
      require<value_error>(chains(link.map, sizes[i], i == 0), "conv2d_chain: convolution ", i,
                           " is not one that a chain takes; run it on its own");
      bare[i] = {link.kernel.data(), pointer(link.bias), link.map, link.window, link.groups};
      in = sizes[i].output();
    }
    tensor y = make(in);
    kernels().conv2d_chain(x.data(), std::span(bare.data(), links.size()),
                           std::span(sizes.data(), links.size()), y.data(), memory());
    return y;
  }

  [[nodiscard]] pooled<tensor, indices> max_pool2d(tensor x, const window2d& window) const {
    const window_sizes sizes = pool_rule(x.shape(), window);
    pooled<tensor, indices> result{make(sizes.output()), {memory(), sizes.output()}};
    kernels().max_pool2d(x.data(), result.output.data(), result.position.data(), sizes);
    return result;
  }
  [[nodiscard]] tensor max_pool2d_gradient(tensor dy, const indices& position,
                                           const window2d& window, const shape& input) const {
    const window_sizes sizes = pool_rule(input, window);
    require_same_shape("max_pool2d_gradient", sizes.output(), dy.shape());
    require_same_shape("max_pool2d_gradient", sizes.output(), position.shape());
    tensor dx = make(input);
    kernels().max_pool2d_gradient(dy.data(), position.data(), dx.data(), sizes);
    return dx;
  }
  [[nodiscard]] tensor avg_pool2d(tensor x, const window2d& window) const {
    const window_sizes sizes = pool_rule(x.shape(), window);
    tensor y = make(sizes.output());
    kernels().avg_pool2d(x.data(), y.data(), sizes);
    return y;
  }
  [[nodiscard]] tensor avg_pool2d_gradient(tensor dy, const window2d& window,
                                           const shape& input) const {
    const window_sizes sizes = pool_rule(input, window);
    require_same_shape("avg_pool2d_gradient", sizes.output(), dy.shape());
    tensor dx = make(input);
    kernels().avg_pool2d_gradient(dy.data(), dx.data(), sizes);
    return dx;
  }

  [[nodiscard]] normalized<tensor> normalize(normalization kind, tensor x, tensor gamma,
                                             tensor beta, double epsilon) const {
    const shape statistics = statistics_shape(x.shape(), kind);
    require_same_shape("normalize: gamma", {x.shape().back()}, gamma.shape());
    require_same_shape("normalize: beta", {x.shape().back()}, beta.shape());
    normalized<tensor> result{make(x.shape()), make(statistics), make(statistics)};
    kernels().normalize(kind, x.data(), gamma.data(), beta.data(), epsilon, result.output.data(),
                        result.mean.data(), result.variance.data(), row_count(x.shape()),
                        x.shape().back());
    return result;
  }
  [[nodiscard]] normalized_gradient<tensor> normalize_gradient(normalization kind, tensor dy,
                                                               tensor x, tensor gamma, tensor mean,
                                                               tensor variance,
                                                               double epsilon) const {
    const shape statistics = statistics_shape(x.shape(), kind);
    require_same_shape("normalize_gradient: dy", x.shape(), dy.shape());
    require_same_shape("normalize_gradient: gamma", {x.shape().back()}, gamma.shape());
    require_same_shape("normalize_gradient: mean", statistics, mean.shape());
    require_same_shape("normalize_gradient: variance", statistics, variance.shape());
    normalized_gradient<tensor> result{make(x.shape()), make(gamma.shape()), make(gamma.shape())};
    kernels().normalize_gradient(kind, dy.data(), x.data(), gamma.data(), mean.data(),
                                 variance.data(), epsilon, result.input.data(), result.gamma.data(),
                                 result.beta.data(), row_count(x.shape()), x.shape().back(),
                                 memory());
    return result;
  }

  [[nodiscard]] tensor dropout(tensor x, double rate, const random_key& key,
                               std::uint64_t offset) const {
    tensor y = reuse(x);
    kernels().dropout(x.data(), y.data(), y.size(), rate, key, offset);
    return y;
  }

  [[nodiscard]] tensor softmax(tensor x) const {
    tensor y = reuse(x);
    kernels().softmax(x.data(), y.data(), row_count(x.shape()), x.shape().back());
    return y;
  }
  [[nodiscard]] tensor softmax_gradient(tensor dy, tensor y) const {
    require_same_shape("softmax_gradient", y.shape(), dy.shape());
    tensor dx = reuse(dy);
    kernels().softmax_gradient(dy.data(), y.data(), dx.data(), row_count(y.shape()),
                               y.shape().back());
    return dx;
  }
  [[nodiscard]] cross_entropy<tensor> softmax_cross_entropy(tensor logits, tensor targets) const {
    require<shape_error>(logits.shape().rank() == 2,
                         "softmax_cross_entropy: expected logits (N, K), got ", logits.shape());
    require_same_shape("softmax_cross_entropy: targets", logits.shape(), targets.shape());
    tensor loss = make({logits.shape()[0]});
    tensor probabilities = reuse(logits);
    kernels().softmax_cross_entropy(logits.data(), targets.data(), loss.data(),
                                    probabilities.data(), logits.shape()[0], logits.shape()[1]);
    return {std::move(loss), std::move(probabilities)};
  }
  [[nodiscard]] tensor softmax_cross_entropy_gradient(tensor dloss, tensor probabilities,
                                                      tensor targets) const {
    const shape s = probabilities.shape();
    require_same_shape("softmax_cross_entropy_gradient: targets", s, targets.shape());
    require_same_shape("softmax_cross_entropy_gradient: dloss", {s[0]}, dloss.shape());
    tensor dlogits = reuse(probabilities);
    kernels().softmax_cross_entropy_gradient(dloss.data(), probabilities.data(), targets.data(),
                                             dlogits.data(), s[0], s[1]);
    return dlogits;
  }

  [[nodiscard]] tensor one_hot(const indices& classes, std::size_t count, double on,
                               double off) const {
    tensor y = full(batch_of(classes.size(), {count}), off);
    for (std::size_t n = 0; n < classes.size(); ++n) {
      const auto k = static_cast<std::size_t>(classes.data()[n]);
      if (k < count) {
        y.data()[n * count + k] = static_cast<value_type>(on);
      }
    }
    return y;
  }
  [[nodiscard]] indices argmax(tensor x) const {
    const std::size_t columns = x.shape().back();
    indices result(memory(), {row_count(x.shape())});
    for (std::size_t n = 0; n < result.size(); ++n) {
      const value_type* row = x.data() + n * columns;
      result.data()[n] = static_cast<std::int32_t>(std::max_element(row, row + columns) - row);
    }
    return result;
  }
  [[nodiscard]] tensor in_top_k(tensor scores, const indices& classes, std::size_t k) const {
    const std::size_t columns = scores.shape().back();
    require_same_shape("in_top_k: classes", {row_count(scores.shape())}, classes.shape());
    tensor hits = make(classes.shape());
    for (std::size_t n = 0; n < hits.size(); ++n) {
      const value_type* row = scores.data() + n * columns;
      const auto truth = static_cast<std::size_t>(classes.data()[n]);
      std::size_t higher = 0;
      bool numbers = truth < columns;
      for (std::size_t i = 0; numbers && i < columns; ++i) {
        numbers = !std::isnan(row[i]);
        higher += row[i] > row[truth] || (row[i] == row[truth] && i < truth) ? 1U : 0U;
      }
      hits.data()[n] = numbers && higher < k ? value_type{1} : value_type{0};
    }
    return hits;
  }

  [[nodiscard]] one_slot<tensor> update(const sgd_rule& rule, tensor p, tensor g, tensor v) const {
    check_update(p, g);
    own(p);
    own(v);
    kernels().update(rule, p.data(), g.data(), pointer(v), p.size());
    return {std::move(p), std::move(v)};
  }
  [[nodiscard]] two_slots<tensor> update(const adam_rule& rule, tensor p, tensor g, tensor m,
                                         tensor v) const {
    check_update(p, g);
    own(p);
    own(m);
    own(v);
    kernels().update(rule, p.data(), g.data(), m.data(), v.data(), p.size());
    return {std::move(p), std::move(m), std::move(v)};
  }
  [[nodiscard]] two_slots<tensor> update(const rmsprop_rule& rule, tensor p, tensor g, tensor v,
                                         tensor u) const {
    check_update(p, g);
    own(p);
    own(v);
    own(u);
    kernels().update(rule, p.data(), g.data(), v.data(), pointer(u), p.size());
    return {std::move(p), std::move(v), std::move(u)};
  }
  [[nodiscard]] one_slot<tensor> update(const adagrad_rule& rule, tensor p, tensor g,
                                        tensor v) const {
    check_update(p, g);
    own(p);
    own(v);
    kernels().update(rule, p.data(), g.data(), v.data(), p.size());
    return {std::move(p), std::move(v)};
  }

 private:
  struct state {
    template <class... Arguments>
    explicit state(Arguments&&... arguments)
        : kernels(std::forward<Arguments>(arguments)...), pool(shards_for(kernels)) {}
    // Not in the cache line of the counter of owners, which copies of the device change.
    alignas(64) Kernels kernels;
    memory_pool pool;

    // Lanes, which different threads run from step to step, are to allocate as one thread does.
    static std::size_t shards_for(const Kernels& loops) {
      if constexpr (requires { loops.threads(); }) {
        return loops.threads() == 1 ? 1 : memory_pool::max_shards;
      } else {
        return memory_pool::max_shards;
      }
    }
  };

  [[nodiscard]] tensor make(const shape& s) const { return tensor(memory(), s); }

  // The operand's own storage when the caller gave it up, else new storage of its shape.
  [[nodiscard]] tensor reuse(const tensor& x) const { return x.unique() ? x : make(x.shape()); }

  // Makes the handle the only one to its elements, so that they can be overwritten.
  void own(tensor& x) const {
    if (x && !x.unique()) {
      tensor copy = make(x.shape());
      std::copy_n(x.data(), x.size(), copy.data());
      x = std::move(copy);
    }
  }

  template <class Tensor, class T>
  [[nodiscard]] Tensor copied(std::span<const T> values, const shape& s) const {
    require<shape_error>(values.size() == s.size(), "from_host: ", values.size(),
                         " values do not fill the shape ", s);
    Tensor y(memory(), s);
    convert(values.data(), values.size(), y.data());
    return y;
  }
  template <class Tensor, class T>
  static void copy_out(const Tensor& x, std::span<T> out) {
    require<shape_error>(out.size() == x.size(), "to_host: ", x.size(),
                         " values do not fill a buffer of ", out.size());
    convert(x.data(), x.size(), out.data());
  }
  template <class From, class To>
  static void convert(const From* from, std::size_t count, To* to) {
    if constexpr (std::is_same_v<From, To>) {
      std::copy_n(from, count, to);
    } else {
      std::transform(from, from + count, to, [](From v) { return static_cast<To>(v); });
    }
  }

  static const value_type* pointer(const tensor& x) { return x ? x.data() : nullptr; }
  static value_type* pointer(tensor& x) { return x ? x.data() : nullptr; }

  static void check_bias(const char* what, const tensor& bias, std::size_t outputs) {
    require<shape_error>(!bias || bias.shape() == shape{outputs}, what,
                         ": expected a bias of shape ", shape{outputs}, ", got ", bias.shape());
  }
  static void check_fusible(const unary_map& map, const window2d& pool) {
    require<value_error>(pools_fuse(map, pool),
                         "conv2d_max_pool2d: takes no activation, relu or relu6, and windows that "
                         "neither overlap nor hang over the border, got ",
                         name_of(map.function));
  }
  static void check_update(const tensor& p, const tensor& g) {
    require_same_shape("update: gradient", p.shape(), g.shape());
  }

  std::shared_ptr<state> state_;
};

}  // namespace glia
