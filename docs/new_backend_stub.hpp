#pragma once

#include <glia/backends/reference.hpp>

// A backend to start from: copy it, then replace kernel after kernel. Each one here hands its work
// to the reference backend, so the stub is right from the first day and stays right as it gets
// fast; the comments say what a device of your own does instead.

namespace my {

template <class T = float>
class stub {
 public:
  using value_type = T;

  // Handles: cheap to copy, empty by default, with shape() and a conversion to bool. On a device, a
  // counted reference to a buffer, or to a node of a graph that is still being recorded.
  using tensor = typename glia::reference<T>::tensor;
  using indices = typename glia::reference<T>::indices;

  std::string_view name() const { return "stub"; }

  // --- copies: the only place where host memory and device meet ---

  // Enqueue the transfer; `values` need not live on after the call, so stage them.
  tensor from_host(std::span<const float> values, const glia::shape& s) const {
    return host_.from_host(values, s);
  }
  indices from_host(std::span<const std::int32_t> values, const glia::shape& s) const {
    return host_.from_host(values, s);
  }
  // Gradient checks in double need this one; training does not.
  tensor from_host(std::span<const double> values, const glia::shape& s) const {
    return host_.from_host(values, s);
  }
  // The only functions that wait for results. All others may return before their work is done.
  void to_host(const tensor& x, std::span<float> out) const { host_.to_host(x, out); }
  void to_host(const tensor& x, std::span<double> out) const { host_.to_host(x, out); }
  void to_host(const indices& x, std::span<std::int32_t> out) const { host_.to_host(x, out); }

  tensor full(const glia::shape& s, double value) const { return host_.full(s, value); }
  // No work: another shape on the same buffer.
  tensor reshape(tensor x, const glia::shape& s) const { return host_.reshape(std::move(x), s); }

  // --- element by element: one launch each, generated from the function's name ---

  // An operand that arrives as the last handle to its buffer may be overwritten; std::move below is
  // what passes that on.
  tensor unary(const glia::unary_map& map, tensor x) const {
    return host_.unary(map, std::move(x));
  }
  tensor unary_gradient(const glia::unary_map& map, tensor dy, tensor saved) const {
    return host_.unary_gradient(map, std::move(dy), std::move(saved));
  }
  tensor binary(glia::binary_function function, tensor a, tensor b) const {
    return host_.binary(function, std::move(a), std::move(b));
  }
  tensor broadcast_to(tensor x, const glia::shape& s) const {
    return host_.broadcast_to(std::move(x), s);
  }
  tensor sum_to(tensor x, const glia::shape& s) const { return host_.sum_to(std::move(x), s); }

  // --- products and convolutions: the vendor's library, or your best kernels ---

  tensor matmul(tensor a, tensor b, glia::transpose which) const {
    return host_.matmul(std::move(a), std::move(b), which);
  }
  // Bias and map belong in the product's epilogue, while the result is still in registers.
  tensor dense(tensor x, tensor w, tensor bias, const glia::unary_map& map) const {
    return host_.dense(std::move(x), std::move(w), std::move(bias), map);
  }
  tensor conv2d(tensor x, tensor w, tensor bias, const glia::unary_map& map,
                const glia::window2d& window, std::size_t groups) const {
    return host_.conv2d(std::move(x), std::move(w), std::move(bias), map, window, groups);
  }
  tensor conv2d_input_gradient(tensor dy, tensor w, const glia::window2d& window,
                               std::size_t groups, const glia::shape& input) const {
    return host_.conv2d_input_gradient(std::move(dy), std::move(w), window, groups, input);
  }
  tensor conv2d_kernel_gradient(tensor x, tensor dy, const glia::window2d& window,
                                std::size_t groups, const glia::shape& kernel) const {
    return host_.conv2d_kernel_gradient(std::move(x), std::move(dy), window, groups, kernel);
  }

  // --- pooling: keep the winning position, not the input ---

  glia::pooled<tensor, indices> max_pool2d(tensor x, const glia::window2d& window) const {
    return host_.max_pool2d(std::move(x), window);
  }
  tensor max_pool2d_gradient(tensor dy, indices position, const glia::window2d& window,
                             const glia::shape& input) const {
    return host_.max_pool2d_gradient(std::move(dy), std::move(position), window, input);
  }
  tensor avg_pool2d(tensor x, const glia::window2d& window) const {
    return host_.avg_pool2d(std::move(x), window);
  }
  tensor avg_pool2d_gradient(tensor dy, const glia::window2d& window,
                             const glia::shape& input) const {
    return host_.avg_pool2d_gradient(std::move(dy), window, input);
  }

  // --- normalisation: two passes over the data; sums in a fixed order keep runs reproducible ---

  glia::normalized<tensor> normalize(glia::normalization kind, tensor x, tensor gamma, tensor beta,
                                     double epsilon) const {
    return host_.normalize(kind, std::move(x), std::move(gamma), std::move(beta), epsilon);
  }
  glia::normalized_gradient<tensor> normalize_gradient(glia::normalization kind, tensor dy,
                                                       tensor x, tensor gamma, tensor mean,
                                                       tensor variance, double epsilon) const {
    return host_.normalize_gradient(kind, std::move(dy), std::move(x), std::move(gamma),
                                    std::move(mean), std::move(variance), epsilon);
  }

  // --- random: compute word offset + i of the key's sequence where element i is; keep no state ---

  tensor dropout(tensor x, double rate, const glia::random_key& key, std::uint64_t offset) const {
    return host_.dropout(std::move(x), rate, key, offset);
  }

  // --- softmax: subtract each row's maximum first ---

  tensor softmax(tensor x) const { return host_.softmax(std::move(x)); }
  tensor softmax_gradient(tensor dy, tensor y) const {
    return host_.softmax_gradient(std::move(dy), std::move(y));
  }
  glia::cross_entropy<tensor> softmax_cross_entropy(tensor logits, tensor targets) const {
    return host_.softmax_cross_entropy(std::move(logits), std::move(targets));
  }
  tensor softmax_cross_entropy_gradient(tensor dloss, tensor probabilities, tensor targets) const {
    return host_.softmax_cross_entropy_gradient(std::move(dloss), std::move(probabilities),
                                                std::move(targets));
  }

  // --- classes ---

  tensor one_hot(indices classes, std::size_t count, double on, double off) const {
    return host_.one_hot(std::move(classes), count, on, off);
  }
  indices argmax(tensor x) const { return host_.argmax(std::move(x)); }
  tensor in_top_k(tensor scores, indices classes, std::size_t k) const {
    return host_.in_top_k(std::move(scores), std::move(classes), k);
  }

  // --- optimizer steps: parameters and slots arrive as last handles, so buffers can be donated ---

  auto update(const glia::sgd_rule& rule, tensor p, tensor g, tensor v) const {
    return host_.update(rule, std::move(p), std::move(g), std::move(v));
  }
  auto update(const glia::adam_rule& rule, tensor p, tensor g, tensor m, tensor v) const {
    return host_.update(rule, std::move(p), std::move(g), std::move(m), std::move(v));
  }
  auto update(const glia::rmsprop_rule& rule, tensor p, tensor g, tensor v, tensor u) const {
    return host_.update(rule, std::move(p), std::move(g), std::move(v), std::move(u));
  }
  auto update(const glia::adagrad_rule& rule, tensor p, tensor g, tensor v) const {
    return host_.update(rule, std::move(p), std::move(g), std::move(v));
  }

 private:
  glia::reference<T> host_;
};

static_assert(glia::backend<stub<float>>);

}  // namespace my
