#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "glia/backends/compilations.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/graph/any_kernel.hpp"
#include "glia/kernels/fused_kernel_set.hpp"
#include "glia/kernels/tensor.hpp"

namespace glia {

namespace detail {
class busy_log;
}  // namespace detail
class executable;
class graph;

/// One call of a kernel. A backend writes the results. It may move operands out, and it may reuse
/// the memory of an operand whose handle is the last one; see `backend`.
struct kernel_call {
  const kernel_type& type;     ///< Functions and properties of the kernel.
  const void* kernel;          ///< The kernel, whose type `type` describes.
  std::span<tensor> operands;  ///< The operands; an omitted operand is an empty handle.
  std::span<tensor> results;   ///< Empty handles, which the backend replaces.

  /// Returns the kernel if its type is K, else null.
  template <glia::kernel K>
  [[nodiscard]] const K* as() const noexcept {
    return type.id == &detail::id_of<K> ? static_cast<const K*>(kernel) : nullptr;
  }
  /// Returns an operand whose memory a result of this shape and type may take: the kernel allows
  /// it, and the operand has no other handle. Null if there is none.
  [[nodiscard]] const tensor* reusable(std::size_t result, const tensor_spec& spec) const noexcept {
    for (const overwrite& pair : type.overwrites) {
      const tensor& operand = operands[pair.operand];
      if (pair.result == result && operand.unique() && operand.shape() == spec.shape &&
          operand.type() == spec.type) {
        return &operand;
      }
    }
    return nullptr;
  }
};

/// The interface of a backend, the implementation of a device. It copies tensors between host and
/// device and runs kernels. It knows nothing of layers, models or gradients. Programs use it
/// through the handle `device`.
///
/// - Images are (N, H, W, C), convolution kernels (height, width, C / groups, O), dense kernels
///   (I, O). Tensors are row-major.
/// - A kernel that receives the last handle of a tensor may reuse its memory for a result, so
///   callers move handles that they no longer need. A kernel must not change a tensor that has
///   other handles.
/// - No kernel needs the elements of a tensor on the host to decide what to do next. A backend can
///   therefore compute immediately, only record the kernels, or only count them. Only `to_host`
///   waits for results.
/// - A kernel determines the shapes of its results. `run` throws an exception for unsuitable
///   operands.
/// - A gradient kernel takes the gradient of a scalar with respect to the forward kernel's
///   result. It returns the gradient with respect to one operand, or several gradients if they
///   share work.
/// - All member functions can be called from several threads, unless the backend says otherwise.
///
/// `glia/testing/conformance.hpp` tests a backend; docs/how_to/new_backend.md is the guide.
class backend : public std::enable_shared_from_this<backend> {
 public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  /// Returns the name of the backend, for messages and reports.
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Returns the bytes of the numbers with which it computes: 4 for float, 8 for double.
  [[nodiscard]] virtual std::size_t real_bytes() const = 0;

  /// Copies elements to the device. Real numbers are converted to the type of the device.
  [[nodiscard]] virtual tensor from_host(std::span<const float> values, const shape& s) const = 0;
  [[nodiscard]] virtual tensor from_host(std::span<const double> values, const shape& s) const = 0;
  [[nodiscard]] virtual tensor from_host(std::span<const std::int32_t> values,
                                         const shape& s) const = 0;
  /// Copies the elements of a tensor to the host, and waits for them if necessary.
  virtual void to_host(const tensor& x, std::span<float> destination) const = 0;
  virtual void to_host(const tensor& x, std::span<double> destination) const = 0;
  virtual void to_host(const tensor& x, std::span<std::int32_t> destination) const = 0;

  /// Runs a kernel immediately. Every backend runs all kernels of `basic_kernels`.
  virtual void run(const kernel_call& call) const = 0;

  // The following member functions are optional.

  /// Returns the fused kernels that the backend runs in addition to the basic kernels. Default:
  /// none.
  [[nodiscard]] virtual fused_kernel_set fused() const { return {}; }
  /// Compiles a graph for the device. Default: a run calls `run` for one node after the other.
  [[nodiscard]] GLIA_INLINE virtual std::shared_ptr<const executable> compile(graph calls) const;
  /// Returns whether the backend compiles each graph as a whole, for which it needs much time.
  /// Small batches are then padded, so that no other graph is needed for them. Default: false.
  [[nodiscard]] virtual bool compiles_whole_graphs() const { return false; }
  /// Returns the number of graphs that were compiled or loaded so far, and the time for this.
  [[nodiscard]] virtual glia::compilations compilations() const { return {}; }
  /// Marks nodes of a graph that can run on batch tiles, for batches of `rows` samples. Default:
  /// none.
  virtual void cut_batch(graph& /*calls*/, std::size_t /*rows*/) const {}

  /// Copies a tensor with one row for each sample to the device. A backend of several devices can
  /// split the rows among them. Default: `from_host`.
  [[nodiscard]] virtual tensor samples_from_host(std::span<const float> values,
                                                 const shape& s) const {
    return from_host(values, s);
  }
  [[nodiscard]] virtual tensor samples_from_host(std::span<const double> values,
                                                 const shape& s) const {
    return from_host(values, s);
  }
  [[nodiscard]] virtual tensor samples_from_host(std::span<const std::int32_t> values,
                                                 const shape& s) const {
    return from_host(values, s);
  }
  /// Makes a tensor of floats in host memory that nobody changes. A backend that computes with
  /// floats in host memory can use them where they are. Default: copies them.
  [[nodiscard]] virtual tensor from_memory(const shared_floats& floats, const shape& s) const {
    return from_host(floats.values, s);
  }
  /// Copies tensors of one number each to the host. A backend can start all copies before it waits
  /// for the first one.
  virtual void numbers_to_host(std::span<const tensor> tensors,
                               std::span<double> destination) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      to_host(tensors[i], destination.subspan(i, 1));
    }
  }

  /// Returns the log of the device's helper threads, or null if there is none.
  [[nodiscard]] virtual detail::busy_log* log() const { return nullptr; }
  /// Returns the graph to which `run` adds nodes, or null if kernels run.
  [[nodiscard]] virtual graph* recording() const { return nullptr; }
};

}  // namespace glia
