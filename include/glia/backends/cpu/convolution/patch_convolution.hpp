#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/loops/patch_tiles.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/core/memory_pool.hpp"

namespace glia::cpu_loops {

/// Computes the products of one convolution: patches, read in place from the image, times weights
/// packed into panels of two registers' width. A call creates one object, and its threads share it.
/// Each thread passes its own bands of rows and its own scratch memory.
///
/// The order of each sum depends only on the shapes.
template <class T>
class patch_convolution {
 public:
  /// Options of products in words; see rounded_convolution.hpp.
  struct options {
    /// Number of patches whose products one sum of the gradient of the kernel adds.
    std::size_t chain = detail::product_chain;
    bool whole_rows = true;  ///< Whether a run can hold all pixels of a row of a patch.
  };

  patch_convolution(const kernels::window_sizes& s, const memory_pool& memory)
      : patch_convolution(s, memory, options{}) {}
  patch_convolution(const kernels::window_sizes& s, const memory_pool& memory, const options& o)
      : s_(s),
        image_(s_, o.chain),
        depth_(s.window.height * s.window.width * s.group_inputs()),
        run_length_(o.whole_rows && s.window.dilation_width == 1 && s.groups == 1
                        ? s.window.width * s.c
                        : s.group_inputs()),
        offsets_(memory, {depth_}),
        runs_(memory, {depth_ / run_length_}) {
    image_.patch_offsets(offsets_.data());
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      runs_.data()[run] = offsets_.data()[run * run_length()];
    }
  }
  patch_convolution(const patch_convolution&) = delete;
  patch_convolution& operator=(const patch_convolution&) = delete;

  [[nodiscard]] const kernels::window_sizes& sizes() const { return s_; }
  [[nodiscard]] const padded_image& image() const { return image_; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] const std::uint32_t* offsets() const { return offsets_.data(); }

  /// Returns the number of contiguous elements in each run of a patch. A patch consists of such
  /// runs.
  [[nodiscard]] std::size_t run_length() const { return run_length_; }
  /// Returns the offsets of the runs within a patch.
  [[nodiscard]] std::span<const std::uint32_t> runs() const { return {runs_.data(), runs_.size()}; }

  /// Returns the number of output rows whose patches take about 128 KiB, a quarter of a
  /// second-level cache of 512 KiB.
  [[nodiscard]] std::size_t rows_per_band() const {
    const std::size_t row_bytes = s_.window.stride_height * image_.row_size() * sizeof(T);
    return std::clamp<std::size_t>(band_bytes / row_bytes, 1, s_.oh);
  }
  /// Returns the number of scratch elements for a padded band, including the space to read a vector
  /// past its end.
  [[nodiscard]] std::size_t band_size(std::size_t rows) const {
    return image_.band(0, rows).input_rows * image_.row_size() + slack;
  }
  static constexpr std::size_t slack = 64;

  /// Packs panels for `forward` from w (height, width, C / groups, O) and a bias (O). The bias may
  /// be null.
  template <class Loops>
  [[nodiscard]] detail::host_tensor<T> pack(const Loops& loops, const T* w, const T* bias,
                                            const memory_pool& memory) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const std::size_t panel_count = panels<Loops>(s_.group_outputs());
    detail::host_tensor<T> packed = packed_memory(loops, memory);
    for (std::size_t group = 0; group < s_.groups; ++group) {
      const std::size_t first = group * s_.group_outputs();
      pack_panels(loops, w + first, s_.o, bias == nullptr ? nullptr : bias + first, depth_,
                  s_.group_outputs(), packed.data() + group * panel_count * (1 + depth_) * width);
    }
    return packed;
  }

  /// Returns memory for the panels that `pack` makes.
  template <class Loops>
  [[nodiscard]] detail::host_tensor<T> packed_memory(const Loops&,
                                                     const memory_pool& memory) const {
    return {memory,
            {s_.groups * panels<Loops>(s_.group_outputs()), 1 + depth_,
             Loops::template panel_width<T>}};
  }

  /// Calls body(panel, group, first output, number of outputs) for each panel that `pack` makes.
  template <class Loops, class Body>
  void for_panels(const Body& body) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    std::size_t panel = 0;
    for (std::size_t group = 0; group < s_.groups; ++group) {
      const std::size_t first = group * s_.group_outputs();
      for (std::size_t within = 0; within < s_.group_outputs(); within += width) {
        body(panel++, group, first + within, std::min(width, s_.group_outputs() - within));
      }
    }
  }
  template <class Loops>
  [[nodiscard]] const T* panel(const T* packed, std::size_t panel) const {
    return packed + panel * (1 + depth_) * Loops::template panel_width<T>;
  }

  /// Computes y (rows, OW, O) of a band: its patches times the packed weights, plus the bias.
  /// `ending` is as in multiply_patches.
  template <class Loops, class Ending>
  void forward(const Loops& loops, const T* x, const row_band& band, const T* packed, T* y,
               const Ending& ending) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const std::size_t size = (1 + depth_) * width;
    const std::size_t block = std::max<std::size_t>(1, panel_block_bytes / (size * sizeof(T)));
    const T* weights = packed;
    for (std::size_t group = 0; group < s_.groups; ++group) {
      for (std::size_t first = 0; first < s_.group_outputs(); first += block * width) {
        const std::size_t outputs = std::min(block * width, s_.group_outputs() - first);
        const patch_products<T> products{runs_.data(), run_length(), depth_,
                                         weights,      outputs,      width};
        for_tiles<Loops>(
            image_.grid(band), [&](const auto& patches, std::size_t pixel, std::size_t n) {
              tile<const T*> source;
              tile<T*> target;
              for (std::size_t p = 0; p < n; ++p) {
                source[p] = x + patches[p] + group * s_.group_inputs();
                target[p] = y + (pixel + p) * s_.o + group * s_.group_outputs() + first;
              }
              loops.multiply_patches(products, source.data(), n, target.data(), ending);
            });
        weights += panels<Loops>(outputs) * size;
      }
    }
  }

  /// Multiplies the transposed patches by dy (rows, OW, O) and adds the products to `sums`, the
  /// gradient of w (height, width, C / groups, O). `scratch` has `kernel_gradient_scratch`
  /// elements.
  template <class Loops, class Sums>
  void add_kernel_gradient(const Loops& loops, const T* x, const row_band& band, const T* dy,
                           Sums& sums, T* scratch) const {
    image_.grid(band).for_parts([&](const patch_grid& part, std::size_t offset, std::size_t pixel) {
      add_kernel_gradient(loops, x + offset, part, dy + pixel * s_.o, sums.data(), scratch);
      sums.added(1);
    });
  }
  /// Returns how many times `add_kernel_gradient` adds to the sums for one image of `image_rows`
  /// output rows, in bands of `rows` rows.
  [[nodiscard]] std::size_t kernel_gradient_parts(std::size_t image_rows, std::size_t rows) const {
    return (image_rows + rows - 1) / rows * image_.grid(image_.band(0, rows)).parts();
  }
  template <class Loops>
  [[nodiscard]] std::size_t kernel_gradient_scratch(std::size_t rows) const {
    return s_.group_outputs() % (Loops::template panel_width<T> / 2) == 0
               ? 0
               : std::min(rows * s_.ow, detail::product_chain) * Loops::template panel_width<T>;
  }

  /// Packs panels for `add_input_gradient`: for each group and run, the rows of w become columns.
  template <class Loops>
  [[nodiscard]] detail::host_tensor<T> pack_transposed(const Loops&, const T* w,
                                                       const memory_pool& memory) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const std::size_t depth = s_.group_outputs();
    const std::size_t count = s_.groups * runs_.size() * panels<Loops>(run_length());
    detail::host_tensor<T> packed(memory, {count, 1 + depth, width});
    std::fill_n(packed.data(), packed.size(), T{0});
    for (std::size_t panel = 0; panel < count; ++panel) {
      const panel_columns part = columns<Loops>(panel, run_length());
      const T* source = w + (part.group % runs_.size() * run_length() + part.within) * s_.o +
                        part.group / runs_.size() * depth;
      T* target = packed.data() + (panel * (1 + depth) + 1) * width;
      for (std::size_t j = 0; j < part.count; ++j) {
        for (std::size_t o = 0; o < depth; ++o) {
          target[o * width + j] = source[j * s_.o + o];
        }
      }
    }
    return packed;
  }

  /// Multiplies dy (rows, OW, O) by the transposed weights, and adds each product to its patch in
  /// dx (padded rows of the band). If a run is a single pixel, the order of the additions depends
  /// only on the shapes: for each run, all patches.
  template <class Loops>
  void add_input_gradient(const Loops& loops, const T* dy, const row_band& band,
                          const detail::host_tensor<T>& packed, T* dx) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const std::size_t depth = s_.group_outputs();
    patch_products<T> products{&single_run, depth, depth, packed.data(), run_length(), width};
    for (std::size_t group = 0; group < s_.groups; ++group) {
      for (const std::uint32_t run : runs()) {
        for_tiles<Loops>(
            image_.grid(band), [&](const auto& patches, std::size_t pixel, std::size_t n) {
              tile<const T*> source;
              tile<T*> target;
              for (std::size_t p = 0; p < n; ++p) {
                source[p] = dy + (pixel + p) * s_.o + group * depth;
                target[p] = dx + patches[p] + run + group * s_.group_inputs();
              }
              loops.multiply_patches(products, source.data(), n, target.data(), add_sums{});
            });
        products.panels += panels<Loops>(run_length()) * (1 + depth) * width;
      }
    }
  }

 private:
  // Both sizes are fractions of a second-level cache of 512 KiB.
  static constexpr std::size_t band_bytes = 128 << 10;
  static constexpr std::size_t panel_block_bytes = 64 << 10;

  template <class Pointer>
  using tile = std::array<Pointer, 16>;

  /// The columns of one panel, in a matrix with `groups` times `width_of_group` columns.
  struct panel_columns {
    std::size_t group;
    std::size_t within;  // first column within the group
    std::size_t first;   // first column within the matrix
    std::size_t count;
  };
  template <class Loops>
  static std::size_t panels(std::size_t columns) {
    return (columns + Loops::template panel_width<T> - 1) / Loops::template panel_width<T>;
  }
  template <class Loops>
  static panel_columns columns(std::size_t panel, std::size_t width_of_group) {
    constexpr std::size_t width = Loops::template panel_width<T>;
    const std::size_t group = panel / panels<Loops>(width_of_group);
    const std::size_t within = panel % panels<Loops>(width_of_group) * width;
    return {group, within, group * width_of_group + within,
            std::min(width, width_of_group - within)};
  }

  template <class Loops>
  void add_kernel_gradient(const Loops& loops, const T* x, const patch_grid& grid, const T* dy,
                           T* dw, T* scratch) const {
    constexpr std::size_t width = Loops::template panel_width<T>;
    for (std::size_t panel = 0; panel < s_.groups * panels<Loops>(s_.group_outputs()); ++panel) {
      const panel_columns part = columns<Loops>(panel, s_.group_outputs());
      const T* gradient = dy + part.first;
      std::size_t step = s_.o;
      const std::size_t readable = part.count <= width / 2 ? width / 2 : width;
      if (part.count < readable) {
        // Whole registers are read. A read at the last pixel must not pass the end of dy.
        for (std::size_t pixel = 0; pixel < grid.count(); ++pixel) {
          std::copy_n(gradient + pixel * step, part.count, scratch + pixel * readable);
          std::fill_n(scratch + pixel * readable + part.count, readable - part.count, T{0});
        }
        gradient = scratch;
        step = readable;
      }
      for (std::size_t k = 0; k < depth_; k += Loops::tile_patches) {
        loops.multiply_transposed_patches(x + part.group * s_.group_inputs(), grid, offsets() + k,
                                          std::min(Loops::tile_patches, depth_ - k), gradient, step,
                                          dw + k * s_.o + part.first, s_.o, part.count);
      }
    }
  }

  /// Calls body(offsets of up to tile_patches patches, index of the first patch, number of
  /// patches).
  template <class Loops, class Body>
  static void for_tiles(const patch_grid& grid, const Body& body) {
    tile<std::size_t> patches{};
    std::size_t column = 0;
    std::size_t row_offset = 0;
    const patch_tiles<Loops::tile_patches> tiles(grid.count());
    for (std::size_t i = 0; i < tiles.count(); ++i) {
      const std::size_t n = tiles.size(i);
      for (std::size_t p = 0; p < n; ++p) {
        patches[p] = row_offset + column * grid.column_step;
        if (++column == grid.columns) {
          column = 0;
          row_offset += grid.row_step;
        }
      }
      body(patches, tiles.start(i), n);
    }
  }

  kernels::window_sizes s_;
  padded_image image_;
  std::size_t depth_;
  std::size_t run_length_;
  detail::host_tensor<std::uint32_t> offsets_;
  detail::host_tensor<std::uint32_t> runs_;
};

}  // namespace glia::cpu_loops
