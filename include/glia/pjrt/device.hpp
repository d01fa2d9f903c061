#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/backends/compilations.hpp"
#include "glia/backends/device.hpp"
#include "glia/graph/graph.hpp"
#include "glia/pjrt/buffer.hpp"
#include "glia/pjrt/client.hpp"
#include "glia/pjrt/compile.hpp"
#include "glia/pjrt/compiler.hpp"
#include "glia/pjrt/executable.hpp"
#include "glia/pjrt/options.hpp"
#include "glia/stablehlo/module.hpp"

namespace glia {

namespace detail {
template <std::floating_point T>
class pjrt_program;
}  // namespace detail

/// The backend of a `pjrt` device.
template <std::floating_point T>
class pjrt_backend final : public backend {
 public:
  explicit pjrt_backend(const pjrt_options& options)
      : client_(std::make_shared<const detail::pjrt_client>(detail::pjrt_plugin(options.plugin),
                                                            options)),
        precision_(options.precision),
        wide_integers_(client_->platform() != "tpu"),
        compiler_(client_, options),
        queue_(client_) {}

  [[nodiscard]] std::string_view name() const override { return "pjrt"; }
  [[nodiscard]] std::size_t real_bytes() const override { return sizeof(T); }
  /// Returns the plugin's name of the platform: cpu, cuda or tpu.
  [[nodiscard]] std::string platform() const { return client_->platform(); }
  /// Returns the plugin's name of the hardware, such as NVIDIA H200.
  [[nodiscard]] std::string kind() const { return client_->device_kind(); }
  /// Returns the number of devices in use.
  [[nodiscard]] std::size_t device_count() const { return client_->devices().size(); }
  /// Returns the number of graphs that were compiled or loaded so far, and the time that this took.
  [[nodiscard]] glia::compilations compilations() const override { return compiler_.count(); }

  [[nodiscard]] tensor from_host(std::span<const float> values, const shape& s) const override {
    return copied<T>(values, real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const double> values, const shape& s) const override {
    return copied<T>(values, real_of(s));
  }
  [[nodiscard]] tensor from_host(std::span<const std::int32_t> values,
                                 const shape& s) const override {
    return copied<std::int32_t>(values, {s, element::index});
  }
  // If the number of rows is a multiple of the number of devices, each device gets an equal part of
  // the rows.
  [[nodiscard]] tensor samples_from_host(std::span<const float> values,
                                         const shape& s) const override {
    return copied<T>(values, real_of(s), layout_of_rows(s));
  }
  [[nodiscard]] tensor samples_from_host(std::span<const double> values,
                                         const shape& s) const override {
    return copied<T>(values, real_of(s), layout_of_rows(s));
  }
  [[nodiscard]] tensor samples_from_host(std::span<const std::int32_t> values,
                                         const shape& s) const override {
    return copied<std::int32_t>(values, {s, element::index}, layout_of_rows(s));
  }
  void to_host(const tensor& x, std::span<float> destination) const override {
    copy_back<T>(x, destination, element::real);
  }
  void to_host(const tensor& x, std::span<double> destination) const override {
    copy_back<T>(x, destination, element::real);
  }
  void to_host(const tensor& x, std::span<std::int32_t> destination) const override {
    copy_back<std::int32_t>(x, destination, element::index);
  }
  // Starts all copies before it waits for the first one.
  void numbers_to_host(std::span<const tensor> sources,
                       std::span<double> destination) const override {
    std::vector<T> values(sources.size());
    detail::wait_for_copies(*client_, [&](auto& events) {
      for (std::size_t i = 0; i < sources.size(); ++i) {
        require_readable(sources[i], 1, element::real);
        detail::start_copy_to_host(buffer_of(sources[i]), sources[i].shape(),
                                   std::as_writable_bytes(std::span(values).subspan(i, 1)), events);
      }
    });
    std::copy(values.begin(), values.end(), destination.begin());
  }

  /// Compiles a kernel for operands of these shapes, unless it has already been compiled, and runs
  /// it.
  void run(const kernel_call& call) const override {
    if (const auto* const full = call.as<kernels::full>()) {
      // Filled on the host and copied. Compiling a graph would not pay: such tensors are few and
      // each is made once.
      const std::vector<T> values(full->target_shape.size(), static_cast<T>(full->value));
      call.results[0] = from_host(std::span<const T>(values), full->target_shape);
      return;
    }
    std::vector<tensor_spec> specs;
    std::vector<tensor> operands;
    for (const tensor& x : call.operands) {
      specs.push_back(spec_of(x));
      if (x) {
        require_own(x);
        operands.push_back(laid_out(x, false));
      }
    }
    const graph calls = alone(any_kernel(call.type, call.kernel), specs);
    std::vector<const detail::pjrt_buffer*> arguments;
    arguments.reserve(operands.size());
    for (const tensor& operand : operands) {
      arguments.push_back(&buffer_of(operand));
    }
    auto begun = compiled(calls, false)->run(arguments, {});
    const std::vector<value_id>& results = calls.nodes().front().results;
    std::size_t next = 0;
    for (std::size_t i = 0; i < call.results.size(); ++i) {
      if (results[i] != no_value) {
        call.results[i] = tensor_of(std::move(begun.results[next++]), calls.spec(results[i]));
      }
    }
    queue_.add(std::move(begun.events));
  }
  [[nodiscard]] bool compiles_whole_graphs() const override { return true; }
  [[nodiscard]] std::shared_ptr<const executable> compile(graph calls) const override {
    return std::make_shared<const detail::pjrt_program<T>>(
        std::move(calls), std::static_pointer_cast<const pjrt_backend>(shared_from_this()));
  }

  /// Returns the queue of computations that run on the devices.
  [[nodiscard]] detail::pjrt_queue& queue() const { return queue_; }
  /// Compiles a graph, once for each StableHLO text. `cached` stores the result on disk for later
  /// runs.
  [[nodiscard]] std::shared_ptr<const detail::pjrt_executable> compiled(const graph& calls,
                                                                        bool cached = true) const {
    const std::size_t results =
        calls.outputs().size() +
        static_cast<std::size_t>(std::count_if(calls.inputs().begin(), calls.inputs().end(),
                                               [](const graph_input& i) { return i.changes(); }));
    const std::string module = stablehlo::module_text(calls, module_options());
    try {
      return compiler_.program(module, results, cached);
    } catch (const detail::pjrt_error& e) {
      const bool lacks_something = e.code == pjrt_api::error_code::unimplemented ||
                                   e.code == pjrt_api::error_code::invalid_argument;
      if (!lacks_something || calls.nodes().size() < 2) {
        throw;
      }
      throw device_error(text(e.what(), culprit_in(calls)));
    }
  }
  /// Throws `value_error` if the tensor belongs to another device.
  void require_own(const tensor& x) const {
    require<value_error>(x.home() == tensor_home::buffer && buffer_of(x).client() == client_,
                         "pjrt: the tensor ", x.shape(),
                         " belongs to another device; copy it to the host and then to this device");
  }
  /// Returns the tensor with its rows split among the devices, or complete on each of them, as the
  /// compiled graph needs it.
  [[nodiscard]] tensor laid_out(const tensor& x, bool by_rows) const {
    const auto layout =
        by_rows ? detail::device_layout::by_rows : detail::device_layout::everywhere;
    if (device_count() == 1 || buffer_of(x).layout() == layout) {
      return x;
    }
    std::vector<std::byte> elements(x.shape().size() * bytes_of(x.type(), sizeof(T)));
    detail::copy_to_host(buffer_of(x), x.shape(), elements);
    const auto type = x.type() == element::index ? pjrt_api::buffer_type::s32 : buffer_type_of<T>();
    return tensor_of(detail::copy_to_devices(client_, elements, type, x.shape(), layout),
                     spec_of(x));
  }

  /// Returns the buffer of a tensor of a `pjrt` device.
  [[nodiscard]] static const detail::pjrt_buffer& buffer_of(const tensor& x) {
    return *static_cast<const detail::pjrt_buffer*>(x.object().get());
  }
  /// Makes a tensor of a buffer.
  [[nodiscard]] static tensor tensor_of(std::shared_ptr<const detail::pjrt_buffer> buffer,
                                        const tensor_spec& spec) {
    return tensor::holding(std::move(buffer), spec);
  }

 private:
  [[nodiscard]] detail::device_layout layout_of_rows(const shape& s) const {
    const bool split = s.rank() > 0 && s[0] > 0 && s[0] % device_count() == 0;
    return split ? detail::device_layout::by_rows : detail::device_layout::everywhere;
  }

  /// Returns a graph that contains only this node.
  [[nodiscard]] static graph alone(const any_kernel& kernel,
                                   std::span<const tensor_spec> operands) {
    graph calls;
    std::vector<value_id> ids;
    for (const tensor_spec& operand : operands) {
      ids.push_back(operand ? calls.add_input("operand", operand) : no_value);
    }
    const std::vector<value_id> results = calls.add(kernel, std::move(ids)).results;
    for (const value_id id : results) {
      if (id != no_value) {
        calls.add_output("result", id);
      }
    }
    return calls;
  }
  /// Returns the name of the kernel that makes the compilation fail, for the error message. Empty
  /// unless some kernels compile alone and others do not.
  [[nodiscard]] std::string culprit_in(const graph& calls) const {
    const graph_node* culprit = nullptr;
    bool others_compile = false;
    for (const graph_node& node : calls.nodes()) {
      if (culprit != nullptr && others_compile) {
        break;
      }
      try {
        (void)compiled(alone(node.kernel, calls.specs(node.operands)), false);
        others_compile = true;
      } catch (const device_error&) {
        culprit = culprit == nullptr ? &node : culprit;
      }
    }
    if (culprit == nullptr || !others_compile) {
      return "";
    }
    const std::string& place = calls.place_of(*culprit).name;
    return text("; the kernel that it cannot compile is '", culprit->kernel.name(), '\'',
                place.empty() ? "" : " of ", place);
  }
  [[nodiscard]] stablehlo::module_options module_options() const {
    auto options = detail::module_options_for<T>(precision_, device_count());
    options.wide_integers = wide_integers_;
    return options;
  }
  template <class Element>
  [[nodiscard]] static constexpr pjrt_api::buffer_type buffer_type_of() {
    return std::same_as<Element, double>  ? pjrt_api::buffer_type::f64
           : std::same_as<Element, float> ? pjrt_api::buffer_type::f32
                                          : pjrt_api::buffer_type::s32;
  }

  template <class Element, class Number>
  [[nodiscard]] tensor copied(
      std::span<const Number> values, const tensor_spec& spec,
      detail::device_layout layout = detail::device_layout::everywhere) const {
    detail::require_values(values.size(), spec.shape);
    const auto copy = [&](std::span<const Element> elements) {
      return tensor_of(detail::copy_to_devices(client_, std::as_bytes(elements),
                                               buffer_type_of<Element>(), spec.shape, layout),
                       spec);
    };
    if constexpr (std::same_as<Element, Number>) {
      return copy(values);
    } else {
      return copy(std::vector<Element>(values.begin(), values.end()));
    }
  }

  void require_readable(const tensor& x, std::size_t room, element type) const {
    detail::require_not_empty(x);
    require_own(x);
    require_elements("to_host", spec_of(x), type);
    require<shape_error>(room == x.shape().size(), "to_host: the destination has room for ", room,
                         " values, but the tensor ", x.shape(), " has ", x.shape().size());
  }
  template <class Element, class Number>
  void copy_back(const tensor& x, std::span<Number> destination, element type) const {
    require_readable(x, destination.size(), type);
    if constexpr (std::same_as<Element, Number>) {
      detail::copy_to_host(buffer_of(x), x.shape(), std::as_writable_bytes(destination));
    } else {
      std::vector<Element> elements(destination.size());
      detail::copy_to_host(buffer_of(x), x.shape(), std::as_writable_bytes(std::span(elements)));
      std::copy(elements.begin(), elements.end(), destination.begin());
    }
  }

  std::shared_ptr<const detail::pjrt_client> client_;
  product_precision precision_;
  bool wide_integers_;
  mutable detail::pjrt_compiler compiler_;
  // Last member: its destructor waits before the others are destroyed.
  mutable detail::pjrt_queue queue_;
};

/// The device for hardware that XLA compiles for: GPUs, TPUs and, for comparison, the CPU. A PJRT
/// plugin drives the hardware. It is a shared library, loaded when the device is created:
///
///     glia::model net{description, {784}, glia::pjrt({.plugin = "xla_cuda_plugin.so"})};
///
/// A model or trainer on this device is compiled as a whole, and the compiled graph is stored on
/// disk; see `pjrt_options`. Kernels outside of a graph are compiled one by one for each shape, and
/// are not stored on disk. Copies refer to the same hardware.
///
/// Throws `device_error` if the plugin cannot be loaded or the hardware fails. An error during a
/// computation is thrown by the call that waits for its result.
template <std::floating_point T = float>
class pjrt : public device {
 public:
  using value_type = T;

  /// Loads the plugin and connects to its devices.
  explicit pjrt(const pjrt_options& options)
      : device(std::make_shared<const pjrt_backend<T>>(options)) {}

  /// Returns the plugin's name of the platform: cpu, cuda or tpu.
  [[nodiscard]] std::string platform() const { return typed_backend().platform(); }
  /// Returns the plugin's name of the hardware, such as NVIDIA H200.
  [[nodiscard]] std::string kind() const { return typed_backend().kind(); }
  /// Returns the number of devices in use.
  [[nodiscard]] std::size_t device_count() const { return typed_backend().device_count(); }

 private:
  [[nodiscard]] const pjrt_backend<T>& typed_backend() const {
    return static_cast<const pjrt_backend<T>&>(implementation());
  }
};

pjrt(const pjrt_options&)->pjrt<float>;

}  // namespace glia

#include "glia/pjrt/program.hpp"
