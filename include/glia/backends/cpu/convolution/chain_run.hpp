#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/convolution/depthwise_convolution.hpp"
#include "glia/backends/cpu/convolution/patch_convolution.hpp"
#include "glia/backends/cpu/loops/clamp_range.hpp"
#include "glia/backends/cpu/loops/patch_tiles.hpp"
#include "glia/backends/cpu/products/packing.hpp"
#include "glia/backends/cpu/products/rounded_loops.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/convolution_chain.hpp"

namespace glia::cpu_loops {

/// The weights, bias and activation of one convolution in a chain. Weights may be packed.
template <class T>
struct chain_link {
  const T* weights = nullptr;
  const T* bias = nullptr;
  unary_map map = kernels::identity_map;
  bool packed = false;
};

/// The data that the threads share during one call of a chain of convolutions; see
/// `convolution_chain`.
template <class T, class Loops>
class chain_run {
 public:
  /// `whole` tells whether the caller will call `image` or `rows`.
  chain_run(const Loops& loops, const workers& team, std::span<const chain_link<T>> links,
            std::span<const kernels::window_sizes> sizes, const memory_pool& memory, bool whole)
      : loops_(loops),
        team_(&team),
        links_(links),
        layout_(sizes, width, sizeof(T),
                whole ? std::numeric_limits<std::size_t>::max() : ring_bytes),
        first_(sizes.front(), memory) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      panels_[i] = links[i].weights;
      if (!links[i].packed) {
        const std::size_t d = depth(sizes[i]);
        const std::size_t panels = (sizes[i].o + width - 1) / width;
        packed_[i] = detail::host_tensor<T>(memory, {panels, 1 + d, width});
        pack_link(links[i], sizes[i], d, packed_[i].data());
        panels_[i] = packed_[i].data();
      }
      // The products of all links but the first read the channels of a pixel from panels.
      if (i > 0) {
        runs_[i] = detail::host_tensor<std::uint32_t>(memory, {layout_.behind(i - 1).panels});
        for (std::size_t panel = 0; panel < runs_[i].size(); ++panel) {
          runs_[i].data()[panel] = static_cast<std::uint32_t>(panel * layout_.panel_step(i - 1));
        }
      }
    }
    const bool copies = !first_.image().unpadded();
    scratch_size_ = layout_.end() + (copies ? first_.band_size(layout_.first_rows()) : 0);
    scratch_ = detail::host_tensor<T>(memory, {whole ? 1 : team.threads(), scratch_size_});
    if (team.rounded<T>() != nullptr) {
      for (const kernels::window_sizes& s : sizes) {
        longest_patch_ = std::max(longest_patch_, depth(s));
      }
      patches_size_ = std::max(patch_bytes / sizeof(T), (Loops::tile_patches + 1) * longest_patch_);
      patches_ = detail::host_tensor<T>(memory, {team.threads(), patches_size_});
    }
  }

  /// Returns whether each link can be distributed over the threads before the next link begins. The
  /// first link must not need padding, and the rows between the links must fit into a second-level
  /// cache.
  [[nodiscard]] static bool goes_whole(std::span<const kernels::window_sizes> sizes) {
    bool fits = !kernels::is_padded(sizes.front().window);
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      fits = fits && sizes[i].h * sizes[i].w * sizes[i].c * sizeof(T) <= ring_bytes;
    }
    return fits;
  }

  /// Computes a whole image, one link after the other. All threads share the work of each link, so
  /// no row is computed twice.
  void image(const T* x, T* y, std::size_t image) const {
    const state s = state_of(x, y, image, 0);
    layout_.clear(s.scratch);
    // Rows after the last window of the next link are not computed because the ring has no room for
    // them.
    std::array<std::size_t, kernels::max_chain> end{};
    end[layout_.count() - 1] = layout_.size(layout_.count() - 1).oh;
    for (std::size_t i = layout_.count() - 1; i > 0; --i) {
      end[i - 1] = layout_.end_seen(i, end[i]);
    }
    for (std::size_t i = 0; i < layout_.count(); ++i) {
      const std::size_t rows = end[i];
      const std::size_t panels = (layout_.size(i).o + width - 1) / width;
      // A task computes some panels of all rows. If there are few panels, a task computes fewer
      // rows.
      const std::size_t slices = std::min(panels, tasks_of_thread * team_->threads());
      const std::size_t parts =
          std::min(rows, (tasks_of_thread * team_->threads() + slices - 1) / slices);
      team_->run(slices * parts, [&](std::size_t task, std::size_t thread) {
        const std::size_t slice = task / parts;
        const std::size_t part = task % parts;
        const panel_range range{slice * panels / slices, (slice + 1) * panels / slices};
        state state_of_thread = s;
        state_of_thread.thread = thread;
        make_link(state_of_thread, i, part * rows / parts, (part + 1) * rows / parts, range);
      });
    }
  }

  /// Computes output rows first ... end - 1 of an image.
  void rows(const T* x, T* y, std::size_t image, std::size_t first, std::size_t end,
            std::size_t thread) const {
    const std::size_t last = layout_.count() - 1;
    state s = state_of(x, y, image, thread);
    layout_.clear(s.scratch);
    s.finished[last] = first;
    for (std::size_t i = last; i > 0; --i) {
      s.finished[i - 1] = layout_.first_seen(i, s.finished[i]);
    }
    while (s.finished[last] < end) {
      make(s, last, std::min(s.finished[last] + layout_.band(), end));
    }
  }

 private:
  static constexpr std::size_t width = Loops::template panel_width<T>;
  // Shares of a second-level cache for the rows between the links and for weights. The cache has at
  // least 512 KiB, or 1 MiB on processors with AVX-512.
  static constexpr std::size_t ring_bytes = (Loops::register_bytes == 64 ? 512 : 256) << 10;
  static constexpr std::size_t panel_block_bytes = 64 << 10;
  static constexpr std::size_t patch_bytes = 128 << 10;
  // Enough tasks for fast threads to take over work from slow threads.
  static constexpr std::size_t tasks_of_thread = 4;

  struct panel_range {
    std::size_t first;
    std::size_t end;
  };

  struct state {
    const T* x;  // the image
    T* y;
    T* scratch;
    std::size_t thread;
    std::array<std::size_t, kernels::max_chain> finished;  // rows of each link
  };

  [[nodiscard]] state state_of(const T* x, T* y, std::size_t image, std::size_t thread) const {
    return {x + image * sample_of(layout_.size(0).input()).size(),
            y + image * sample_of(layout_.size(layout_.count() - 1).output()).size(),
            scratch_.data() + thread * scratch_size_,
            thread,
            {}};
  }

  /// Returns the number of rows in the matrix of a link's weights. A depthwise kernel (height,
  /// width, 1, C) is a matrix of C columns, as it is stored.
  static std::size_t depth(const kernels::window_sizes& s) {
    return s.window.height * s.window.width * (s.groups > 1 ? 1 : s.c);
  }

  /// Computes the rows of link i up to `end`. First computes the rows of earlier links that these
  /// rows need.
  void make(state& s, std::size_t i, std::size_t end) const {
    const std::size_t first = s.finished[i];
    if (first >= end) {
      return;
    }
    if (i > 0) {
      // Rows that are in no window are skipped. They exist if strides are longer than windows.
      s.finished[i - 1] = std::max(s.finished[i - 1], layout_.first_seen(i, first));
      make(s, i - 1, layout_.end_seen(i, end));
    }
    make_link(s, i, first, end, {0, (layout_.size(i).o + width - 1) / width});
    s.finished[i] = end;
  }

  /// Computes rows first ... end - 1 of some panels of link i.
  void make_link(const state& s, std::size_t i, std::size_t first, std::size_t end,
                 const panel_range& panels) const {
    if (layout_.size(i).groups > 1) {
      make_depthwise(s, i, first, end, panels);
    } else {
      make_products(s, i, first, end, panels);
    }
  }

  void make_depthwise(const state& s, std::size_t i, std::size_t first, std::size_t end,
                      const panel_range& panels) const {
    const kernels::window_sizes& size = layout_.size(i);
    const window2d& k = size.window;
    const clamp_range<T> range(links_[i].map);
    const bool last = layout_.last(i);
    for (std::size_t count = 0; first < end; first += count) {
      // Rows that must be contiguous: all remaining rows or, in a ring, the rows before it starts
      // again.
      count = std::min(end - first, seen_rows<T>::max_rows(size));
      count = last ? count : std::min(count, layout_.rows_until_turn(i, first));
      for (std::size_t panel = panels.first; panel < panels.end; ++panel) {
        const T* bias = panels_[i] + panel * (1 + k.height * k.width) * width;
        const seen_rows<T> row_pointers(size, first, count, [&](std::size_t row) {
          return s.scratch +
                 (row < size.h ? layout_.padded_row(i - 1, panel, row) : layout_.zeros());
        });
        T* const target = last ? s.y + first * size.ow * size.o + panel * width
                               : s.scratch + layout_.row(i, panel, first);
        loops_.convolve_channels(
            depthwise_rows{count, size.ow, last ? std::min(width, size.o - panel * width) : width,
                           k.height, k.width, k.stride_width, k.dilation_width, width,
                           last ? size.o : width,
                           last ? size.ow * size.o : layout_.behind(i).columns * width},
            row_pointers.data(), bias + width, bias, target, range);
      }
    }
  }

  void make_products(const state& s, std::size_t i, std::size_t first, std::size_t end,
                     const panel_range& panels) const {
    const kernels::window_sizes& size = layout_.size(i);
    const clamp_range<T> range(links_[i].map);
    const bool last = layout_.last(i);
    // A link after the first reads one pixel at a time.
    const std::size_t panel_size = (1 + depth(size)) * width;
    const std::size_t block =
        std::max<std::size_t>(1, panel_block_bytes / (panel_size * sizeof(T))) * width;
    // Between links, whole panels are written, including the elements that fill the last panel.
    const std::size_t panel_step = last ? width : layout_.panel_step(i);
    const std::size_t columns = last ? std::min(size.o, panels.end * width) : panels.end * width;
    const std::size_t outputs = (end - first) * size.ow;
    const patch_tiles<Loops::tile_patches> tiles(outputs);
    const T* const image = i == 0
                               ? first_.image().read(s.x, first_.image().band(first, end - first),
                                                     s.scratch + layout_.end())
                               : nullptr;
    patch_products<T> products{i == 0 ? first_.runs().data() : runs_[i].data(),
                               i == 0 ? first_.run_length() : width,
                               depth(size),
                               panels_[i] + panels.first * panel_size,
                               0,
                               panel_step};
    // Rounded patches are copied, as many as stay in a cache while all panels read them.
    const bool rounds = team_->rounded<T>() != nullptr;
    const std::size_t chunk =
        rounds ? std::max<std::size_t>(
                     1, (patches_size_ - longest_patch_) / (Loops::tile_patches * depth(size)))
               : tiles.count();
    pixels start(*this, s, i, image, first);
    for (std::size_t from_tile = 0; from_tile < tiles.count(); from_tile += chunk) {
      const std::size_t end_tile = std::min(from_tile + chunk, tiles.count());
      T* const words = patches_.data() + s.thread * patches_size_;
      if (rounds) {
        round_patches(products, start, tiles.start(end_tile) - tiles.start(from_tile), words);
      }
      products.panels = panels_[i] + panels.first * panel_size;
      pixels pixel = start;
      for (std::size_t from_output = panels.first * width; from_output < columns;
           from_output += block) {
        products.outputs = std::min(block, columns - from_output);
        pixel = start;
        const std::size_t offset = from_output / width * panel_step;
        if (rounds) {
          pixel =
              multiply_words(products, words, pixel, tiles.start(end_tile) - tiles.start(from_tile),
                             offset, links_[i].map);
        } else {
          for (std::size_t tile = from_tile; tile < end_tile; ++tile) {
            const std::size_t n = tiles.size(tile);
            std::array<const T*, Loops::tile_patches> source;
            std::array<T*, Loops::tile_patches> target;
            for (std::size_t j = 0; j < n; ++j) {
              source[j] = pixel.source;
              target[j] = pixel.target + offset;
              pixel.advance();
            }
            loops_.multiply_patches(products, source.data(), n, target.data(), range);
          }
        }
        products.panels += block / width * panel_size;
      }
      start = pixel;
    }
  }

  /// Writes the words of `count` patches, one patch after the other.
  template <class Pixels>
  void round_patches(const patch_products<T>& products, Pixels pixel, std::size_t count,
                     T* words) const {
    const rounded_loops<T>& rounded = *team_->rounded<T>();
    const std::size_t size = rounded.words(products.depth);
    const bool whole_words = products.run_length % 2 == 0;
    T* const patch = words + patches_size_ - longest_patch_;
    for (; count > 0; --count, words += size, pixel.advance()) {
      for (std::size_t first = 0, run = 0; first < products.depth; ++run) {
        const std::size_t length = std::min(products.run_length, products.depth - first);
        const T* const source = pixel.source + products.run[run];
        if (whole_words) {
          rounded.round_row(source, length, words + rounded.words(first));
        } else {
          std::copy_n(source, length, patch + first);
        }
        first += length;
      }
      if (!whole_words) {
        rounded.round_row(patch, products.depth, words);
      }
    }
  }

  /// Multiplies `count` patches in words. Stores the outputs `offset` elements after the targets of
  /// the pixels. Returns the pixel after them.
  template <class Pixels>
  Pixels multiply_words(const patch_products<T>& products, const T* words, Pixels pixel,
                        std::size_t count, std::size_t offset, const unary_map& map) const {
    patch_products<T> in_words = products;
    in_words.run = &single_run;
    in_words.depth = team_->rounded<T>()->words(products.depth);
    in_words.run_length = in_words.depth;
    in_words.panel_depth = products.depth;
    std::array<T*, rounded_loops<T>::max_patches> target;
    for (std::size_t n = 0; count > 0; count -= n, words += n * in_words.depth) {
      n = std::min(count, target.size());
      for (std::size_t p = 0; p < n; ++p, pixel.advance()) {
        target[p] = pixel.target + offset;
      }
      team_->rounded<T>()->multiply_patches(in_words, words, n, target.data(), map);
    }
    return pixel;
  }

  /// Packs the weights of a link, of which `depth` belong to one output.
  void pack_link(const chain_link<T>& link, const kernels::window_sizes& s, std::size_t depth,
                 T* target) const {
    if (team_->rounded<T>() != nullptr && s.groups == 1) {
      team_->rounded<T>()->pack_panels(link.weights, s.o, link.bias, depth, s.o, target);
      return;
    }
    pack_panels(loops_, link.weights, s.o, link.bias, depth, s.o, target);
  }

  /// Iterates over the outputs of a link, with the address of the input and the result of each
  /// output.
  class pixels {
   public:
    /// `image` is the input of the first link, from row `first` on.
    pixels(const chain_run& run, const state& s, std::size_t i, const T* image, std::size_t first)
        : run_(&run), s_(&s), i_(i), image_(image), first_(first), row_(first) {
      begin_row();
    }

    const T* source = nullptr;
    T* target = nullptr;

    void advance() {
      source += source_step_;
      target += target_step_;
      if (--left_ == 0) {
        ++row_;
        begin_row();
      }
    }

   private:
    void begin_row() {
      const chain_layout& layout = run_->layout_;
      const kernels::window_sizes& size = layout.size(i_);
      left_ = size.ow;
      if (i_ == 0) {
        const patch_grid grid = run_->first_.image().grid({});
        source = image_ + (row_ - first_) * grid.row_step;
        source_step_ = grid.column_step;
      } else {
        source = s_->scratch + layout.padded_row(i_ - 1, 0, row_);
        source_step_ = width;
      }
      target =
          layout.last(i_) ? s_->y + row_ * size.ow * size.o : s_->scratch + layout.row(i_, 0, row_);
      target_step_ = layout.last(i_) ? size.o : width;
    }

    const chain_run* run_;
    const state* s_;
    std::size_t i_;
    const T* image_;
    std::size_t first_;
    std::size_t row_;
    std::size_t left_ = 0;  // remaining columns of the row
    std::size_t source_step_ = 0;
    std::size_t target_step_ = 0;
  };

  Loops loops_;
  const workers* team_;
  std::span<const chain_link<T>> links_;
  chain_layout layout_;
  patch_convolution<T> first_;
  std::array<detail::host_tensor<T>, kernels::max_chain>
      packed_;  // packed here if the caller did not
  std::array<const T*, kernels::max_chain> panels_{};
  std::array<detail::host_tensor<std::uint32_t>, kernels::max_chain> runs_;
  std::size_t scratch_size_ = 0;  // elements for each thread: the layout, then a padded band
  detail::host_tensor<T> scratch_;
  std::size_t longest_patch_ = 0;
  std::size_t patches_size_ = 0;
  detail::host_tensor<T> patches_;  // for each thread: words of patches, and space for one patch
};

}  // namespace glia::cpu_loops
