#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "glia/kernels/convolution_chain.hpp"

namespace glia::cpu_loops {

/// The layout of the rows between the links of a chain of convolutions in a thread's scratch
/// memory, and the number of rows that are computed at a time.
///
/// Between two links, channels are stored in panels: all pixels of the first `panel_width`
/// channels, then all pixels of the next channels. Rows are stored in a ring: the row after the
/// last one overwrites a row that no link needs any more. A link with windows over several channels
/// needs its input rows in order. The ring in front of such a link therefore holds a whole image
/// with its padding.
class chain_layout {
 public:
  /// The largest number of stages: the links, and the stages before, between and after them.
  static constexpr std::size_t max_stages = 2 * kernels::max_chain + 1;

  /// The rows that one link passes to the next, with the padding of the next link beside them.
  struct ring {
    std::size_t rows = 0;  // number of rows in the ring
    std::size_t columns = 0;
    std::size_t pad_left = 0;  // in columns
    std::size_t inside = 0;    // columns without padding
    std::size_t panels = 0;
    std::size_t first = 0;    // first element in the scratch memory
    std::size_t pad_top = 0;  // in rows, if the ring holds a whole image

    [[nodiscard]] std::size_t pixels() const { return rows * columns; }
  };

  /// Selects the largest band (rows that are computed at a time) for which the rings take at most
  /// `bytes`, but at least one row.
  chain_layout(std::span<const kernels::window_sizes> sizes, std::size_t panel_width,
               std::size_t element_bytes, std::size_t bytes)
      : sizes_(sizes), panel_width_(panel_width) {
    lay_out(1);
    for (std::size_t band = 2; band <= sizes.back().oh; ++band) {
      chain_layout larger = *this;
      larger.lay_out(band);
      if (larger.zeros_ * element_bytes > bytes) {
        break;
      }
      *this = larger;
    }
  }

  [[nodiscard]] std::size_t count() const { return sizes_.size(); }
  [[nodiscard]] bool last(std::size_t link) const { return link + 1 == count(); }
  [[nodiscard]] const kernels::window_sizes& size(std::size_t link) const { return sizes_[link]; }
  /// Returns the number of output rows of the chain that are computed at a time.
  [[nodiscard]] std::size_t band() const { return band_; }
  /// Returns the largest number of rows that the first link computes at a time.
  [[nodiscard]] std::size_t first_rows() const { return count() == 1 ? band_ : rings_[0].rows; }

  /// Returns the ring that receives the rows of a link.
  [[nodiscard]] const ring& behind(std::size_t link) const { return rings_[link]; }
  /// Returns the number of elements from one panel to the next in the ring behind a link.
  [[nodiscard]] std::size_t panel_step(std::size_t link) const {
    return rings_[link].pixels() * panel_width_;
  }
  /// Returns the index of the first element of a link's row, after the padding at its left.
  [[nodiscard]] std::size_t row(std::size_t link, std::size_t panel, std::size_t row) const {
    return padded_row(link, panel, row) + rings_[link].pad_left * panel_width_;
  }
  [[nodiscard]] std::size_t padded_row(std::size_t link, std::size_t panel, std::size_t row) const {
    const ring& r = rings_[link];
    return r.first + (panel * r.pixels() + (row + r.pad_top) % r.rows * r.columns) * panel_width_;
  }
  /// Returns the number of rows, from `row` on, that are stored in order before the ring starts
  /// again.
  [[nodiscard]] std::size_t rows_until_turn(std::size_t link, std::size_t row) const {
    return rings_[link].rows - row % rings_[link].rows;
  }
  /// Return the start of a row of zeros, which is as long as the longest row, and the end of the
  /// scratch memory.
  [[nodiscard]] std::size_t zeros() const { return zeros_; }
  [[nodiscard]] std::size_t end() const { return end_; }

  /// Return the range of input rows that a link needs for its output rows first ... end - 1.
  [[nodiscard]] std::size_t first_seen(std::size_t link, std::size_t first) const {
    const window2d& k = sizes_[link].window;
    return first * k.stride_height - std::min(first * k.stride_height, k.pad_top);
  }
  [[nodiscard]] std::size_t end_seen(std::size_t link, std::size_t end) const {
    const std::size_t padded = input_rows(link, end);
    return std::min(padded - std::min(padded, sizes_[link].window.pad_top), sizes_[link].h);
  }

  /// Fills all elements that are never written: padding and the row of zeros. The padding of the
  /// first ring is filled with `first_padding`, everything else with zeros.
  template <class T>
  void clear(T* scratch, T first_padding = T{0}) const {
    std::fill(scratch + zeros_, scratch + end_, T{0});
    for (std::size_t i = 0; i + 1 < count(); ++i) {
      const ring& r = rings_[i];
      if (sees_image(i + 1)) {
        std::fill_n(scratch + r.first, r.panels * r.pixels() * panel_width_, T{0});
        continue;
      }
      const std::size_t right = r.columns - r.pad_left - r.inside;
      const T padding = i == 0 ? first_padding : T{0};
      T* cursor = scratch + r.first;
      for (std::size_t row = 0; row < r.panels * r.rows && r.columns > r.inside; ++row) {
        std::fill_n(cursor, r.pad_left * panel_width_, padding);
        cursor += (r.pad_left + r.inside) * panel_width_;
        cursor = std::fill_n(cursor, right * panel_width_, padding);
      }
    }
  }

 private:
  /// Returns the number of input rows, including padding, that a link needs for `rows` output rows.
  [[nodiscard]] std::size_t input_rows(std::size_t link, std::size_t rows) const {
    const window2d& k = sizes_[link].window;
    return (rows - 1) * k.stride_height + (k.height - 1) * k.dilation_height + 1;
  }

  /// Returns whether a link after the first has windows over several channels.
  [[nodiscard]] bool sees_image(std::size_t link) const {
    return sizes_[link].groups == 1 && !(sizes_[link].window == window2d{});
  }

  void lay_out(std::size_t band) {
    band_ = band;
    zeros_ = 0;
    std::size_t longest = 0;
    std::size_t rows = band;
    for (std::size_t i = count() - 1; i > 0; --i) {
      const kernels::window_sizes& next = sizes_[i];
      rows = std::min(input_rows(i, rows), next.h);
      const bool whole = sees_image(i);
      const std::size_t top = whole ? next.window.pad_top : 0;
      rings_[i - 1] = {whole ? next.h + top + next.window.pad_bottom : rows,
                       next.w + next.window.pad_left + next.window.pad_right,
                       next.window.pad_left,
                       next.w,
                       (next.c + panel_width_ - 1) / panel_width_,
                       zeros_,
                       top};
      zeros_ += rings_[i - 1].panels * panel_step(i - 1);
      longest = std::max(longest, rings_[i - 1].columns * panel_width_);
    }
    end_ = zeros_ + longest;
  }

  std::span<const kernels::window_sizes> sizes_;
  std::size_t panel_width_;
  std::array<ring, max_stages> rings_;
  std::size_t band_ = 1;
  std::size_t zeros_ = 0;
  std::size_t end_ = 0;
};

}  // namespace glia::cpu_loops
