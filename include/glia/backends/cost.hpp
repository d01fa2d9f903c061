#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "glia/backends/backend.hpp"

namespace glia {

/// What a computation takes, counted and not measured.
struct cost_totals {
  double flops = 0;            ///< floating-point operations, a multiply-add being two
  double bytes_moved = 0;      ///< operands read and results written, each once per kernel
  std::size_t live_bytes = 0;  ///< in tensors that exist now
  std::size_t peak_bytes = 0;  ///< highest live_bytes so far
};

/// A backend without numbers: its tensors are shapes and its kernels count what they would do.
///
/// Operations per element: 1 for simple functions and for each term of a sum, 10 for those with an
/// exponential or logarithm; a nominal count, good for comparing and not for timing. Copies share
/// the counters. Not for use from several threads.
template <class T = float>
class cost {
 public:
  using value_type = T;

  /// A shape together with its entry in the count of live bytes.
  class tensor {
   public:
    tensor() = default;
    [[nodiscard]] const glia::shape& shape() const noexcept { return shape_; }
    [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }

   private:
    friend class cost;
    tensor(const glia::shape& s, std::shared_ptr<const void> storage)
        : shape_(s), storage_(std::move(storage)) {}
    glia::shape shape_;
    std::shared_ptr<const void> storage_;
  };
  using indices = tensor;

  cost() : totals_(std::make_shared<cost_totals>()), section_(std::make_shared<section>()) {}

  [[nodiscard]] std::string_view name() const { return "cost"; }
  [[nodiscard]] const cost_totals& totals() const { return *totals_; }

  /// The bytes of those tensors that exist now and were made from this call until the next one.
  [[nodiscard]] std::shared_ptr<const std::size_t> start_section() const {
    *section_ = std::make_shared<std::size_t>(0);
    return *section_;
  }

  [[nodiscard]] tensor from_host(std::span<const float>, const shape& s) const { return make(s); }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t>, const shape& s) const {
    return make(s);
  }
  /// There are no numbers: the output is filled with zeros.
  template <class Number>
  void to_host(const tensor&, std::span<Number> out) const {
    std::fill(out.begin(), out.end(), Number{0});
  }
  [[nodiscard]] tensor full(const shape& s, double) const { return make(s); }
  [[nodiscard]] tensor reshape(tensor x, const shape& s) const {
    require<shape_error>(x.shape().size() == s.size(), "reshape: ", x.shape(), " has ",
                         x.shape().size(), " elements, ", s, " has ", s.size());
    x.shape_ = s;
    return x;
  }

  [[nodiscard]] tensor unary(const unary_map& map, tensor x) const {
    return in_place(std::move(x), flops_of(map));
  }
  [[nodiscard]] tensor unary_gradient(const unary_map& map, tensor dy, tensor saved) const {
    if (saved_for_gradient(map.function) != saved_operand::none) {
      require_same_shape("unary_gradient", dy.shape(), saved.shape());
      read(saved);
    }
    return in_place(std::move(dy), 1 + flops_of(map));
  }
  [[nodiscard]] tensor binary(binary_function, tensor a, tensor b) const {
    const shape s = broadcast_shape(a.shape(), b.shape());
    read(b);
    return a.shape() == s ? in_place(std::move(a), 1) : result(s, count(s), a);
  }
  [[nodiscard]] tensor broadcast_to(tensor x, const shape& s) const {
    require_broadcastable_to(x.shape(), s);
    return result(s, 0, x);
  }
  [[nodiscard]] tensor sum_to(tensor x, const shape& s) const {
    require_broadcastable_to(s, x.shape());
    return result(s, count(x.shape()), x);
  }

  [[nodiscard]] tensor matmul(tensor a, tensor b, transpose which) const {
    const matmul_sizes s = matmul_rule(a.shape(), b.shape(), which);
    return result({s.m, s.n}, 2 * count({s.m, s.n, s.k}), a, b);
  }
  [[nodiscard]] tensor dense(tensor x, tensor w, tensor bias, const unary_map& map) const {
    const matmul_sizes s = matmul_rule(x.shape(), w.shape(), transpose::none);
    return result({s.m, s.n},
                  2 * count({s.m, s.n, s.k}) + count({s.m, s.n}) * epilogue_flops(bias, map), x, w,
                  bias);
  }

  [[nodiscard]] tensor conv2d(tensor x, tensor w, tensor bias, const unary_map& map,
                              const window2d& window, std::size_t groups) const {
    const window_sizes s = conv2d_rule(x.shape(), w.shape(), window, groups);
    return result(s.output(), product_flops(s) + count(s.output()) * epilogue_flops(bias, map), x,
                  w, bias);
  }
  [[nodiscard]] tensor conv2d_input_gradient(tensor dy, tensor w, const window2d& window,
                                             std::size_t groups, const shape& input) const {
    return result(input, product_flops(conv2d_rule(input, w.shape(), window, groups)), dy, w);
  }
  [[nodiscard]] tensor conv2d_kernel_gradient(tensor x, tensor dy, const window2d& window,
                                              std::size_t groups, const shape& kernel) const {
    return result(kernel, product_flops(conv2d_rule(x.shape(), kernel, window, groups)), x, dy);
  }

  [[nodiscard]] pooled<tensor, indices> max_pool2d(tensor x, const window2d& window) const {
    const window_sizes s = pool_rule(x.shape(), window);
    return {result(s.output(), pool_flops(s), x), result(s.output(), 0)};
  }
  [[nodiscard]] tensor max_pool2d_gradient(tensor dy, indices position, const window2d& window,
                                           const shape& input) const {
    return result(input, count(pool_rule(input, window).output()), dy, position);
  }
  [[nodiscard]] tensor avg_pool2d(tensor x, const window2d& window) const {
    const window_sizes s = pool_rule(x.shape(), window);
    return result(s.output(), pool_flops(s), x);
  }
  [[nodiscard]] tensor avg_pool2d_gradient(tensor dy, const window2d& window,
                                           const shape& input) const {
    return result(input, pool_flops(pool_rule(input, window)), dy);
  }

  [[nodiscard]] normalized<tensor> normalize(normalization kind, tensor x, tensor gamma,
                                             tensor beta, double) const {
    const shape statistics = statistics_shape(x.shape(), kind);
    return {result(x.shape(), 8 * count(x.shape()), x, gamma, beta), result(statistics, 0),
            result(statistics, 0)};
  }
  [[nodiscard]] normalized_gradient<tensor> normalize_gradient(normalization, tensor dy, tensor x,
                                                               tensor gamma, tensor, tensor,
                                                               double) const {
    return {result(x.shape(), 12 * count(x.shape()), dy, x), result(gamma.shape(), 0),
            result(gamma.shape(), 0)};
  }

  [[nodiscard]] tensor dropout(tensor x, double, const random_key&, std::uint64_t) const {
    return in_place(std::move(x), 1);
  }
  [[nodiscard]] tensor softmax(tensor x) const { return in_place(std::move(x), 12); }
  [[nodiscard]] tensor softmax_gradient(tensor dy, tensor y) const {
    read(y);
    return in_place(std::move(dy), 4);
  }
  [[nodiscard]] cross_entropy<tensor> softmax_cross_entropy(tensor logits, tensor targets) const {
    require_same_shape("softmax_cross_entropy: targets", logits.shape(), targets.shape());
    read(targets);
    tensor loss = result({logits.shape()[0]}, 0);
    return {std::move(loss), in_place(std::move(logits), 15)};
  }
  [[nodiscard]] tensor softmax_cross_entropy_gradient(tensor dloss, tensor probabilities,
                                                      tensor targets) const {
    read(dloss);
    read(targets);
    return in_place(std::move(probabilities), 3);
  }

  [[nodiscard]] tensor one_hot(indices classes, std::size_t k, double, double) const {
    return result(batch_of(classes.shape().size(), {k}), 0, classes);
  }
  [[nodiscard]] indices argmax(tensor x) const {
    return result({row_count(x.shape())}, count(x.shape()), x);
  }
  [[nodiscard]] tensor in_top_k(tensor scores, indices classes, std::size_t) const {
    return result(classes.shape(), count(scores.shape()), scores, classes);
  }

  [[nodiscard]] one_slot<tensor> update(const sgd_rule&, tensor p, tensor g, tensor v) const {
    read(g);
    return {in_place(std::move(p), 6), v ? in_place(std::move(v), 0) : v};
  }
  [[nodiscard]] two_slots<tensor> update(const adam_rule&, tensor p, tensor g, tensor m,
                                         tensor v) const {
    read(g);
    return {in_place(std::move(p), 13), in_place(std::move(m), 0), in_place(std::move(v), 0)};
  }
  [[nodiscard]] two_slots<tensor> update(const rmsprop_rule&, tensor p, tensor g, tensor v,
                                         tensor u) const {
    read(g);
    return {in_place(std::move(p), 10), in_place(std::move(v), 0),
            u ? in_place(std::move(u), 0) : u};
  }
  [[nodiscard]] one_slot<tensor> update(const adagrad_rule&, tensor p, tensor g, tensor v) const {
    read(g);
    return {in_place(std::move(p), 7), in_place(std::move(v), 0)};
  }

 private:
  static double count(const shape& s) { return static_cast<double>(s.size()); }
  static double bytes(const shape& s) { return count(s) * sizeof(T); }

  static double flops_of(const unary_map& map) {
    if (map == identity_map) {
      return 0;
    }
    switch (map.function) {
      case unary_function::exponential:
      case unary_function::logarithm:
      case unary_function::softplus:
      case unary_function::elu:
      case unary_function::sigmoid:
      case unary_function::tanh:
      case unary_function::swish:
      case unary_function::gelu:
        return 10;
      default:
        return 1;
    }
  }
  static double epilogue_flops(const tensor& bias, const unary_map& map) {
    return (bias ? 1 : 0) + flops_of(map);
  }
  static double product_flops(const window_sizes& s) {
    return 2 * count(s.output()) *
           static_cast<double>(s.window.height * s.window.width * s.group_inputs());
  }
  static double pool_flops(const window_sizes& s) {
    return count(s.output()) * static_cast<double>(s.window.height * s.window.width);
  }

  void read(const tensor& x) const {
    if (x) {
      totals_->bytes_moved += bytes(x.shape());
    }
  }

  [[nodiscard]] tensor make(const shape& s) const {
    const std::size_t size = s.size() * sizeof(T);
    totals_->live_bytes += size;
    totals_->peak_bytes = std::max(totals_->peak_bytes, totals_->live_bytes);
    const section of_section = *section_;
    if (of_section) {
      *of_section += size;
    }
    // The pointer's deleter is what takes the bytes off the counts again.
    const auto forget = [totals = totals_, of_section, size](const void*) {
      totals->live_bytes -= size;
      if (of_section) {
        *of_section -= size;
      }
    };
    return tensor(s, std::shared_ptr<const void>(totals_.get(), forget));
  }

  template <class... Operands>
  [[nodiscard]] tensor result(const shape& s, double flops, const Operands&... operands) const {
    (read(operands), ...);
    totals_->flops += flops;
    totals_->bytes_moved += bytes(s);
    return make(s);
  }

  [[nodiscard]] tensor in_place(tensor x, double flops_per_element) const {
    totals_->flops += flops_per_element * count(x.shape());
    totals_->bytes_moved += 2 * bytes(x.shape());
    return x.storage_.use_count() == 1 ? x : make(x.shape());
  }

  using section = std::shared_ptr<std::size_t>;
  std::shared_ptr<cost_totals> totals_;
  std::shared_ptr<section> section_;  // the one that is open, if any
};

static_assert(backend<cost<float>>);

}  // namespace glia
