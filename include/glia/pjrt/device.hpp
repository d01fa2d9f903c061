#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "glia/backends/backend.hpp"
#include "glia/graph/graph.hpp"
#include "glia/pjrt/client.hpp"
#include "glia/pjrt/executable.hpp"
#include "glia/stablehlo/module.hpp"

namespace glia {

/// How products of numbers are computed on devices that have faster ways than their type's: TPUs
/// multiply in bfloat16 by default, recent GPUs in TF32.
enum class product_precision : std::uint8_t { full, fast };

struct pjrt_options {
  std::filesystem::path plugin;  ///< the shared library that drives the device
  product_precision precision = product_precision::full;
};

/// A handle to a tensor on a device of `pjrt`.
class pjrt_tensor {
 public:
  pjrt_tensor() = default;
  pjrt_tensor(std::shared_ptr<const detail::pjrt_buffer> buffer, const tensor_spec& spec)
      : buffer_(std::move(buffer)), spec_(spec) {}

  [[nodiscard]] const glia::shape& shape() const noexcept { return spec_.shape; }
  [[nodiscard]] element type() const noexcept { return spec_.type; }
  [[nodiscard]] explicit operator bool() const noexcept { return buffer_ != nullptr; }
  /// Whether nobody else holds the tensor.
  [[nodiscard]] bool unique() const noexcept { return buffer_.use_count() == 1; }
  [[nodiscard]] bool shares_memory(const pjrt_tensor& other) const noexcept {
    return buffer_ == other.buffer_;
  }
  [[nodiscard]] const detail::pjrt_buffer& buffer() const noexcept { return *buffer_; }

 private:
  std::shared_ptr<const detail::pjrt_buffer> buffer_;
  tensor_spec spec_;
};

/// The backend for devices that XLA compiles for: GPUs, TPUs, and for comparison the CPU. It
/// reaches them through a plugin, a shared library of its own that is loaded when the backend is
/// made:
///
///     glia::model net{description, {784}, glia::pjrt({.plugin = "xla_cuda_plugin.so"})};
///
/// Models and trainers on it are compiled as a whole. Kernels that are run one by one are compiled
/// one by one, for each shape anew. Throws `device_error` where the plugin cannot be had, and where
/// the device fails; what fails while it computes comes out of the call that waits for a result.
/// Copies refer to the same device.
template <std::floating_point T = float>
class pjrt {
 public:
  using value_type = T;
  using tensor = pjrt_tensor;

  explicit pjrt(const pjrt_options& options) : state_(std::make_shared<state>(options)) {}

  [[nodiscard]] std::string_view name() const { return "pjrt"; }
  /// What the plugin says of the device: cpu, cuda, tpu.
  [[nodiscard]] std::string platform() const { return state_->client->platform(); }
  /// How many programs were compiled so far.
  [[nodiscard]] std::size_t compilations() const {
    const std::lock_guard guard(state_->lock);
    return state_->compilations;
  }

  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const {
    return copied<T>(values, real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const {
    return copied<T>(values, real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t> values, const shape& s) const {
    return copied<std::int32_t>(values, {s, element::index});
  }
  void to_host(const tensor& x, std::span<float> to) const { copy_back<T>(x, to, element::real); }
  void to_host(const tensor& x, std::span<double> to) const { copy_back<T>(x, to, element::real); }
  void to_host(const tensor& x, std::span<std::int32_t> to) const {
    copy_back<std::int32_t>(x, to, element::index);
  }

  /// Without a program: few of these tensors are made, and each once.
  [[nodiscard]] tensor run(const kernels::full& k) const {
    const std::vector<T> values(k.to.size(), static_cast<T>(k.value));
    return from_host(std::span<const T>(values), k.to);
  }
  /// Compiles a kernel for operands of these shapes, unless that was done before, and runs it.
  template <kernel K, std::same_as<tensor>... Operands>
  requires(K::operands > 0 && sizeof...(Operands) == K::operands && is_basic<K>)
      [[nodiscard]] results_t<K, tensor> run(const K& k, const Operands&... operands) const {
    graph calls;
    std::vector<value_id> ids;
    std::vector<const tensor*> given;
    const auto add = [&](const tensor& x) {
      ids.push_back(x ? calls.add_input("operand", spec_of(x)) : no_value);
      if (x) {
        given.push_back(&x);
      }
    };
    (add(operands), ...);
    const graph_node node = calls.add(k, std::move(ids));
    for (const value_id id : node.results) {
      if (id != no_value) {
        calls.add_output("result", id);
      }
    }
    std::array<tensor, K::results> results;
    run_alone(calls, given, node, results);
    if constexpr (K::results == 1) {
      return results[0];
    } else {
      return results;
    }
  }

  /// The programs that run on the device.
  [[nodiscard]] detail::pjrt_queue& queue() const { return state_->queue; }
  /// A program that a graph becomes on the device; compiled once for each text.
  [[nodiscard]] std::shared_ptr<const detail::pjrt_executable> compiled(const graph& calls) const {
    std::string module = stablehlo::module_text(calls, module_options());
    const std::size_t results =
        calls.outputs().size() +
        static_cast<std::size_t>(std::count_if(calls.inputs().begin(), calls.inputs().end(),
                                               [](const graph_input& i) { return i.changes(); }));
    const std::lock_guard guard(state_->lock);
    const auto known = state_->programs.find(module);
    if (known != state_->programs.end()) {
      return known->second;
    }
    ++state_->compilations;
    auto made = std::make_shared<const detail::pjrt_executable>(state_->client, module, results);
    return state_->programs.emplace(std::move(module), std::move(made)).first->second;
  }

 private:
  struct state {
    explicit state(const pjrt_options& o)
        : client(std::make_shared<const detail::pjrt_client>(detail::pjrt_plugin(o.plugin))),
          options(o),
          queue(client) {}

    std::shared_ptr<const detail::pjrt_client> client;
    pjrt_options options;
    std::mutex lock;
    std::unordered_map<std::string, std::shared_ptr<const detail::pjrt_executable>> programs;
    std::size_t compilations = 0;
    detail::pjrt_queue queue;  // is waited for before all else goes
  };

  [[nodiscard]] stablehlo::module_options module_options() const {
    return {
        .real = std::same_as<T, double> ? stablehlo::scalar::f64 : stablehlo::scalar::f32,
        .precision = state_->options.precision == product_precision::full ? "HIGHEST" : "DEFAULT"};
  }
  template <class Element>
  [[nodiscard]] static constexpr pjrt_api::buffer_type buffer_type_of() {
    return std::same_as<Element, double>  ? pjrt_api::buffer_type::f64
           : std::same_as<Element, float> ? pjrt_api::buffer_type::f32
                                          : pjrt_api::buffer_type::s32;
  }

  template <class Element, class Number>
  [[nodiscard]] tensor copied(std::span<const Number> values, const tensor_spec& spec) const {
    require<shape_error>(values.size() == spec.shape.size(), "from_host: ", values.size(),
                         " values do not fill the shape ", spec.shape);
    const auto copy = [&](const Element* elements) {
      return tensor(
          detail::copy_to_device(state_->client, elements, buffer_type_of<Element>(), spec.shape),
          spec);
    };
    if constexpr (std::same_as<Element, Number>) {
      return copy(values.data());
    } else {
      return copy(std::vector<Element>(values.begin(), values.end()).data());
    }
  }

  template <class Element, class Number>
  void copy_back(const tensor& x, std::span<Number> to, element type) const {
    require_elements("to_host", spec_of(x), type);
    require<shape_error>(to.size() == x.shape().size(), "to_host: room for ", to.size(),
                         " values, the tensor ", x.shape(), " has ", x.shape().size());
    if constexpr (std::same_as<Element, Number>) {
      detail::copy_to_host(x.buffer(), std::as_writable_bytes(to));
    } else {
      std::vector<Element> elements(to.size());
      detail::copy_to_host(x.buffer(), std::as_writable_bytes(std::span(elements)));
      std::copy(elements.begin(), elements.end(), to.begin());
    }
  }

  void run_alone(const graph& calls, std::span<const tensor* const> given, const graph_node& node,
                 std::span<tensor> results) const {
    std::vector<pjrt_api::buffer*> arguments;
    for (const tensor* const one : given) {
      arguments.push_back(one->buffer().get());
    }
    auto made = compiled(calls)->run(arguments, {}, state_->queue);
    std::size_t next = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.results[i] != no_value) {
        results[i] = tensor(std::move(made[next++]), calls.spec(node.results[i]));
      }
    }
  }

  std::shared_ptr<state> state_;
};

pjrt(const pjrt_options&)->pjrt<float>;

}  // namespace glia
