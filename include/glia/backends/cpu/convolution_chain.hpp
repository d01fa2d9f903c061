#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "glia/backends/backend.hpp"
#include "glia/backends/cpu/clamp_range.hpp"
#include "glia/backends/cpu/depthwise_convolution.hpp"
#include "glia/backends/cpu/patch_convolution.hpp"
#include "glia/backends/cpu/workers.hpp"

namespace glia::cpu_loops {

/// Convolutions one after the other, a few rows at a time through all of them, so that what passes
/// between them stays in the second-level cache.
///
/// Between two links channels lie in panels: all pixels of the first `panel_width` channels, then
/// all of the next. That is how products leave their registers, and it makes of a depthwise
/// convolution a walk through contiguous memory. Rows go round in a ring: the row behind the last
/// overwrites one that no link needs any more.
template <class T>
class convolution_chain {
 public:
  explicit convolution_chain(const workers& team) : team_(&team) {}

  /// See `convolution_chain_backend`; the links are such as `chains` allows.
  void conv2d_chain(const T* x, std::span<const chain_link<const T*>> links,
                    std::span<const window_sizes> sizes, T* y, const memory_pool& memory) const {
    with_widest_isa(team_->level(), [&](auto kernels) {
      const run<decltype(kernels)> all(kernels, links, sizes, memory, team_->threads());
      const std::size_t images = sizes.front().n;
      const std::size_t rows = sizes.back().oh;
      const std::size_t parts = images >= few_images ? 1 : std::min(rows, parts_of_an_image);
      team_->run(images * parts, [&](std::size_t task, std::size_t thread) {
        const std::size_t part = task % parts;
        all.rows(x, y, task / parts, part * rows / parts, (part + 1) * rows / parts, thread);
      });
    });
  }

 private:
  // With fewer images than this, their rows are shared out among the threads.
  static constexpr std::size_t few_images = 8;
  static constexpr std::size_t parts_of_an_image = 4;
  // What passes between the links may take so much of a second-level cache of 512 KiB.
  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr std::size_t panel_block_bytes = 64 << 10;

  /// The rows that one link hands to the next.
  struct ring {
    std::size_t rows = 0;      // that it holds
    std::size_t columns = 0;   // with the next link's padding
    std::size_t pad_left = 0;  // columns
    std::size_t first = 0;     // element of a thread's scratch memory
    std::size_t panels = 0;

    [[nodiscard]] std::size_t pixels() const { return rows * columns; }
  };

  /// One call of the chain: what its threads share.
  template <class Kernels>
  class run {
   public:
    run(const Kernels& kernels, std::span<const chain_link<const T*>> links,
        std::span<const window_sizes> sizes, const memory_pool& memory, std::size_t threads)
        : kernels_(kernels), links_(links), sizes_(sizes), first_(sizes.front(), memory) {
      for (std::size_t i = 0; i < count(); ++i) {
        const patch_convolution<T> c(i == 0 ? sizes[i] : as_one_group(sizes[i]), memory);
        packed_[i] = c.pack(kernels, links[i].kernel, links[i].bias, memory);
        offsets_[i] = host_tensor<std::uint32_t>(memory, {c.depth()});
      }
      cut_into_bands();
      for (std::size_t i = 1; i < count(); ++i) {
        // A product finds a pixel's channels in panels a ring's length apart.
        for (std::size_t k = 0; k < offsets_[i].size(); ++k) {
          offsets_[i].data()[k] =
              static_cast<std::uint32_t>(k / width * rings_[i - 1].pixels() * width + k % width);
        }
      }
      std::copy_n(first_.offsets(), first_.depth(), offsets_[0].data());
      scratch_ = host_tensor<T>(memory, {threads, scratch_size_});
    }

    /// Output rows first ... end - 1 of an image.
    void rows(const T* x, T* y, std::size_t image, std::size_t first, std::size_t end,
              std::size_t thread) const {
      const window_sizes& in = sizes_.front();
      const window_sizes& out = sizes_.back();
      state s{x + image * in.h * in.w * in.c,
              y + image * out.oh * out.ow * out.o,
              scratch_.data() + thread * scratch_size_,
              {}};
      clear_padding(s.scratch);
      s.made[count() - 1] = first;
      for (std::size_t i = count() - 1; i > 0; --i) {
        s.made[i - 1] = first_input_row(i, s.made[i]);
      }
      while (s.made[count() - 1] < end) {
        make(s, count() - 1, std::min(s.made[count() - 1] + band_, end));
      }
    }

   private:
    static constexpr std::size_t width = Kernels::template panel_width<T>;

    struct state {
      const T* x;  // the image
      T* y;
      T* scratch;
      std::array<std::size_t, max_chain> made;  // each link's rows so far
    };

    /// Walks over link i's outputs from row `first` on: where each has its input and goes to.
    struct pixels {
      pixels(const run& all, const state& s, const T* image, std::size_t i, std::size_t first)
          : all_(all), s_(s), image_(image), i_(i), first_(first), row(first) {
        begin_row();
      }

      void advance() {
        from += from_step_;
        to += to_step_;
        if (--left_ == 0) {
          ++row;
          begin_row();
        }
      }

     private:
      const run& all_;
      const state& s_;
      const T* image_;
      std::size_t i_;
      std::size_t first_;
      std::size_t left_ = 0;  // columns of the row
      std::size_t from_step_ = 0;
      std::size_t to_step_ = 0;

      void begin_row() {
        const window_sizes& size = all_.sizes_[i_];
        left_ = size.ow;
        if (i_ == 0) {
          const patch_grid grid = all_.first_.image().grid({});
          from = image_ + (row - first_) * grid.row_step;
          from_step_ = grid.column_step;
        } else {
          from = all_.row_of(s_, all_.rings_[i_ - 1], 0, row);
          from_step_ = width;
        }
        if (i_ + 1 == all_.count()) {
          to = s_.y + row * size.ow * size.o;
          to_step_ = size.o;
        } else {
          const ring& r = all_.rings_[i_];
          to = all_.row_of(s_, r, 0, row) + r.pad_left * width;
          to_step_ = width;
        }
      }

     public:
      std::size_t row;
      const T* from = nullptr;
      T* to = nullptr;
    };

    [[nodiscard]] std::size_t count() const { return links_.size(); }
    [[nodiscard]] bool depthwise(std::size_t i) const { return i > 0 && sizes_[i].groups > 1; }

    /// Packs a depthwise kernel (height, width, 1, C) as what it is in memory, a matrix of C
    /// columns.
    static window_sizes as_one_group(window_sizes s) {
      if (s.groups > 1) {
        s.c = 1;
        s.groups = 1;
      }
      return s;
    }

    [[nodiscard]] std::size_t first_input_row(std::size_t i, std::size_t row) const {
      const std::size_t at = row * sizes_[i].window.stride_height;
      return at - std::min(at, sizes_[i].window.pad_top);
    }
    [[nodiscard]] std::size_t end_of_input(std::size_t i, std::size_t end_row) const {
      const window2d& k = sizes_[i].window;
      const std::size_t end =
          (end_row - 1) * k.stride_height + (k.height - 1) * k.dilation_height + 1;
      return std::min(end - std::min(end, k.pad_top), sizes_[i].h);
    }

    /// As many rows at a time as let the rings fit the cache.
    void cut_into_bands() {
      band_ = 1;
      lay_out();
      while (band_ < sizes_.back().oh) {
        ++band_;
        if (lay_out() > ring_bytes) {
          --band_;
          lay_out();
          break;
        }
      }
    }
    /// Returns the bytes of all rings.
    std::size_t lay_out() {
      std::size_t rows = band_;
      std::size_t at = 0;
      for (std::size_t i = count() - 1; i > 0; --i) {
        const window2d& k = sizes_[i].window;
        const std::size_t seen =
            (rows - 1) * k.stride_height + (k.height - 1) * k.dilation_height + 1;
        ring& r = rings_[i - 1];
        r.rows = std::min(seen, sizes_[i].h);
        r.columns = sizes_[i].w + k.pad_left + k.pad_right;
        r.pad_left = k.pad_left;
        r.panels = (sizes_[i].c + width - 1) / width;
        r.first = at;
        at += r.panels * r.pixels() * width;
        rows = r.rows;
      }
      zeros_ = at;
      std::size_t longest = 0;
      for (std::size_t i = 0; i + 1 < count(); ++i) {
        longest = std::max(longest, rings_[i].columns * width);
      }
      padded_ = zeros_ + longest;
      scratch_size_ = padded_ + (first_.image().unpadded() ? 0 : first_.band_size(rows));
      return at * sizeof(T);
    }

    [[nodiscard]] T* row_of(const state& s, const ring& r, std::size_t panel,
                            std::size_t row) const {
      return s.scratch + r.first + (panel * r.pixels() + row % r.rows * r.columns) * width;
    }

    void clear_padding(T* scratch) const {
      std::fill_n(scratch + zeros_, padded_ - zeros_, T{0});
      for (std::size_t i = 0; i + 1 < count(); ++i) {
        const ring& r = rings_[i];
        const std::size_t inside = sizes_[i + 1].w;
        const std::size_t right = r.columns - r.pad_left - inside;
        T* at = scratch + r.first;
        for (std::size_t row = 0; row < r.panels * r.rows && r.columns > inside; ++row) {
          std::fill_n(at, r.pad_left * width, T{0});
          std::fill_n(at + (r.pad_left + inside) * width, right * width, T{0});
          at += r.columns * width;
        }
      }
    }

    /// Link i's rows up to `end`, after what they need of the links before it.
    void make(state& s, std::size_t i, std::size_t end) const {
      const std::size_t first = s.made[i];
      if (first >= end) {
        return;
      }
      if (i > 0) {
        make(s, i - 1, end_of_input(i, end));
      }
      if (depthwise(i)) {
        make_depthwise(s, i, first, end);
      } else {
        make_products(s, i, first, end);
      }
      s.made[i] = end;
    }

    void make_depthwise(const state& s, std::size_t i, std::size_t first, std::size_t end) const {
      const window_sizes& size = sizes_[i];
      const window2d& k = size.window;
      const ring& from = rings_[i - 1];
      const clamp_range<T> range(links_[i].map);
      const bool last = i + 1 == count();
      depthwise_row row{size.ow,
                        width,
                        k.height,
                        k.width,
                        k.stride_width * width,
                        k.dilation_width * width,
                        width,
                        last ? size.o : width};
      for (std::size_t panel = 0; panel < from.panels; ++panel) {
        const T* weights = packed_[i].data() + panel * (1 + k.height * k.width) * width;
        row.channels = last ? std::min(width, size.o - panel * width) : width;
        for (std::size_t r = first; r < end; ++r) {
          std::array<const T*, depthwise_convolution<T>::max_rows> rows{};
          for (std::size_t tap = 0; tap < k.height; ++tap) {
            const std::size_t at = r * k.stride_height + tap * k.dilation_height - k.pad_top;
            rows[tap] = at < size.h ? row_of(s, from, panel, at) : s.scratch + zeros_;
          }
          T* const to = last ? s.y + r * size.ow * size.o + panel * width
                             : row_of(s, rings_[i], panel, r) + rings_[i].pad_left * width;
          kernels_.convolve_channels(row, rows.data(), weights + width, weights, to, range);
        }
      }
    }

    void make_products(const state& s, std::size_t i, std::size_t first, std::size_t end) const {
      const window_sizes& size = sizes_[i];
      const clamp_range<T> range(links_[i].map);
      const bool last = i + 1 == count();
      const std::size_t depth = offsets_[i].size();
      const std::size_t panel_size = (1 + depth) * width;
      const std::size_t panels = packed_[i].shape()[0];
      const std::size_t block =
          std::max<std::size_t>(1, panel_block_bytes / (panel_size * sizeof(T)));
      const row_band band = first_.image().band(first, end - first);
      const T* const image = i == 0 ? first_.image().read(s.x, band, s.scratch + padded_) : nullptr;
      const std::size_t panel_step = last ? width : rings_[i].pixels() * width;
      for (std::size_t from_panel = 0; from_panel < panels; from_panel += block) {
        pixels at(*this, s, image, i, first);
        while (at.row < end) {
          std::array<const T*, 16> from{};
          std::array<T*, 16> to{};
          std::size_t n = 0;
          for (; n < Kernels::tile_patches && at.row < end; ++n) {
            from[n] = at.from;
            to[n] = at.to + from_panel * panel_step;
            at.advance();
          }
          for (std::size_t p = from_panel; p < std::min(from_panel + block, panels); ++p) {
            kernels_.multiply_patches(from.data(), n, offsets_[i].data(), depth,
                                      packed_[i].data() + p * panel_size, to.data(),
                                      last ? std::min(width, size.o - p * width) : width, range);
            for (std::size_t j = 0; j < n; ++j) {
              to[j] += panel_step;
            }
          }
        }
      }
    }

    Kernels kernels_;
    std::span<const chain_link<const T*>> links_;
    std::span<const window_sizes> sizes_;
    patch_convolution<T> first_;
    std::array<host_tensor<T>, max_chain> packed_;
    std::array<host_tensor<std::uint32_t>, max_chain> offsets_;
    std::array<ring, max_chain> rings_;
    std::size_t band_ = 1;          // output rows at a time
    std::size_t zeros_ = 0;         // of a thread's scratch memory: where a row of zeros begins
    std::size_t padded_ = 0;        // and a band of the padded image
    std::size_t scratch_size_ = 0;  // elements
    host_tensor<T> scratch_;
  };

  const workers* team_;
};

}  // namespace glia::cpu_loops
