#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/cpu/integers/quantized_packing.hpp"
#include "glia/backends/cpu/integers/quantized_run.hpp"
#include "glia/backends/cpu/integers/quantized_stages.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/core/flush_denormals.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// Computes quantized products, whose operands are bytes.
template <class T>
class quantization {
 public:
  using tensor = detail::tensor_view<T>;

  explicit quantization(const workers& team) : team_(&team) {}

  void compute(const kernels::pack_quantized& k, const memory_pool&, const tensor& w,
               const tensor& scales, const tensor& bias, const tensor& x_scale,
               const tensor& y_scale, const tensor& packed) const {
    with_integer_isa(team_->level(), [&](auto loops) {
      quantized_panels<decltype(loops)>(k.link, k.first, k.to_bytes)
          .write(k, w.data(), scales.data(), bias.data(), static_cast<double>(x_scale.data()[0]),
                 y_scale ? static_cast<double>(y_scale.data()[0]) : 1, packed.bytes());
    });
  }

  /// Runs the chain. `packed_and_result` holds the packed weights of each link, followed by the
  /// result.
  template <std::same_as<tensor>... Others>
  void compute(const kernels::quantized_chain& k, const memory_pool& memory, const tensor& x,
               const tensor& scale, const tensor& pooled_scale,
               const Others&... packed_and_result) const {
    const std::array<const tensor*, sizeof...(Others)> tensors{&packed_and_result...};
    std::array<const std::uint8_t*, kernels::max_chain> packed{};
    for (std::size_t i = 0; i < k.count; ++i) {
      packed[i] = tensors[i]->bytes();
    }
    const tensor& y = *tensors.back();
    if (y.size() == 0) {
      return;
    }
    const call request{k, x.shape(), static_cast<float>(scale.data()[0]),
                       pooled_scale ? static_cast<float>(pooled_scale.data()[0]) : 1,
                       std::span<const std::uint8_t* const>(packed).first(k.count)};
    if constexpr (std::same_as<T, float>) {
      run(request, x.data(), y.data(), memory);
    } else {  // bytes have no more digits than floats
      const detail::host_tensor<float> source(memory, x.shape());
      const detail::host_tensor<float> target(memory, y.shape());
      std::transform(x.data(), x.data() + x.size(), source.data(),
                     [](T number) { return static_cast<float>(number); });
      run(request, source.data(), target.data(), memory);
      std::copy_n(target.data(), target.size(), y.data());
    }
  }

 private:
  // These limits are as in convolution_chain.
  static constexpr std::size_t few_images = 8;
  static constexpr std::size_t few_rows = 4;
  // Fewer operations take no longer than their hand-over to a second thread. For a single sample,
  // the weights take most of the time.
  static constexpr double operations_worth_sharing = 3e5;

  struct call {
    const kernels::quantized_chain& k;
    shape x;
    float scale;
    float pooled_scale;
    std::span<const std::uint8_t* const> packed;
  };

  void run(const call& c, const float* x, float* y, const memory_pool& memory) const {
    const auto products = c.k.sizes(c.x);
    const quantized_stages stages(c.k, c.x, products);
    double operations = 0;
    for (std::size_t i = 0; i < c.k.count; ++i) {
      operations += glia::detail::product_flops(products[i]);
    }
    with_integer_isa(team_->level(), [&](auto loops) {
      const std::size_t threads = operations >= operations_worth_sharing ? team_->threads() : 1;
      const quantized_run<decltype(loops)> run(c.k, stages, c.scale, c.pooled_scale, c.packed,
                                               memory, threads);
      const std::size_t images = c.x[0];
      const std::size_t rows = run.output_rows();
      // A few images are cut: a product of few rows into slices of its outputs, every other chain
      // into rows.
      const bool has_few_images = images < few_images;
      const std::size_t slices =
          has_few_images && rows < few_rows * threads ? std::min(threads, run.panels()) : 1;
      const std::size_t parts = has_few_images && slices == 1 ? std::min(rows, threads) : 1;
      const auto work = [&](std::size_t task, std::size_t thread) {
        const std::size_t slice = task % slices;
        const std::size_t part = task / slices % parts;
        run.rows(x, y, task / slices / parts, part * rows / parts, (part + 1) * rows / parts,
                 slice * run.panels() / slices, (slice + 1) * run.panels() / slices, thread);
      };
      if (threads == 1) {
        const flush_denormals on_this_thread;
        for (std::size_t task = 0; task < images * parts * slices; ++task) {
          work(task, 0);
        }
      } else {
        team_->run(images * parts * slices, work);
      }
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
