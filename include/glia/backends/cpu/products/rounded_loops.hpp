#pragma once

#include <algorithm>
#include <cstddef>

#include "glia/backends/cpu/loops/vector_operands.hpp"
#include "glia/backends/cpu/products/epilogue.hpp"
#include "glia/backends/cpu/products/matrix.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/products.hpp"
#include "glia/kernels/window.hpp"

namespace glia::cpu_loops {

class workers;

/// Products whose factors are rounded first, for one instruction set; `bfloat16_loops` implements
/// them. Kernels call this interface, so that only programs that name `glia::bfloat16` or
/// `glia::bfloat16_tiles` contain the loops.
///
/// Rounded factors are stored as words, one or two in the size of a number; see loops/rounding.inl.
/// Panels of words are as wide as other panels of the instruction set.
template <class T>
class rounded_loops {
 public:
  using sizes = kernels::matmul_sizes;

  constexpr rounded_loops() = default;
  rounded_loops(const rounded_loops&) = delete;
  rounded_loops& operator=(const rounded_loops&) = delete;

  /// Computes C = last(A B) on all threads. `packed` is null or the result of `pack_panels` for B.
  virtual void multiply(const workers& team, const memory_pool& memory, const matrix<T>& a,
                        const matrix<T>& b, T* c, const sizes& s, const epilogue<T>& last,
                        const T* packed) const = 0;

  /// Computes C = A B, or adds the product to C, on the calling thread. `scratch` has
  /// `scratch_size` elements.
  virtual void multiply_here(const matrix<T>& a, const matrix<T>& b, T* c, std::size_t c_row,
                             const sizes& s, T* scratch, bool add) const = 0;
  [[nodiscard]] virtual std::size_t scratch_size(const sizes& s) const = 0;

  /// Packs B (k, n) into panels that are `panel_step` words apart.
  virtual void pack(const matrix<T>& b, std::size_t k, std::size_t n, T* target,
                    std::size_t panel_step) const = 0;
  /// Computes C = A B, or adds the product to C, for a packed B on the calling thread. `scratch`
  /// has min(k, detail::product_chain) elements for each row of A, at most row_blocks::max_rows,
  /// and for `spare_rows` more rows. If A is transposed, the rows are filled up to whole panels.
  virtual void multiply_packed(const matrix<T>& a, const T* panels, std::size_t panel_step, T* c,
                               std::size_t c_row, const sizes& s, T* scratch, bool add) const = 0;
  /// Packs weights and a bias like `cpu_loops::pack_panels`, with words behind the bias.
  virtual void pack_panels(const T* w, std::size_t step, const T* bias, std::size_t depth,
                           std::size_t outputs, T* target) const = 0;

  /// Computes a convolution in bands of at most `most_rows` rows.
  virtual void convolve(const workers& team, const memory_pool& memory,
                        const kernels::window_sizes& s, const T* x, const T* w, const T* bias,
                        const unary_map& map, T* y, std::size_t most_rows) const = 0;
  virtual void input_gradient(const workers& team, const memory_pool& memory,
                              const kernels::window_sizes& s, const T* dy, const T* w,
                              T* dx) const = 0;
  virtual void kernel_gradient(const workers& team, const memory_pool& memory,
                               const kernels::window_sizes& s, const T* x, const T* dy,
                               T* dw) const = 0;

  /// Returns the number of words for n consecutive factors.
  [[nodiscard]] virtual std::size_t words(std::size_t n) const = 0;
  /// Writes the words of n consecutive factors.
  virtual void round_row(const T* x, std::size_t n, T* words) const = 0;
  /// Multiplies at most `max_patches` patches by panels from `pack_panels`, adds the biases and
  /// applies a map that clamps. A patch is a single run of words, which follow those of the patch
  /// before. Up to 15 patches after the last one are read, but not used.
  virtual void multiply_patches(const patch_products<T>& products, const T* words,
                                std::size_t patches, T* const* out, const unary_map& map) const = 0;
  static constexpr std::size_t max_patches = 128;
  /// Tile registers read up to 32 rows at a time.
  static constexpr std::size_t spare_rows = 31;
  /// A number is rounded to a finite one if its product with this is finite. A few more numbers
  /// below the limit fail this test.
  static constexpr T finite_scale = T{1} + T{1} / T{256};
  /// Most products of a sum in a convolution, which are added without compensation.
  static constexpr std::size_t most_products = 1 << 16;

 protected:
  ~rounded_loops() = default;
};

/// Returns whether the factors of a convolution are rounded on a device that rounds. A group with a
/// single input or output, as in a depthwise convolution, has so few products that rounding would
/// not pay off.
[[nodiscard]] inline bool worth_rounding(const kernels::window_sizes& s) {
  const std::size_t channels = std::max(s.group_inputs(), s.group_outputs());
  return (s.groups == 1 || (s.group_inputs() > 1 && s.group_outputs() > 1)) &&
         s.window.height * s.window.width * channels <= rounded_loops<float>::most_products;
}

}  // namespace glia::cpu_loops
