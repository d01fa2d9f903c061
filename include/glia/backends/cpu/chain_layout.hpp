#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "glia/kernels/convolution_chain.hpp"

namespace glia::cpu_loops {

/// How the rows that pass between the links of a chain of convolutions lie in a thread's scratch
/// memory, and how many are made at a time.
///
/// Between two links channels lie in panels: all pixels of the first `panel_width` channels, then
/// all of the next. Rows go round in a ring: the row behind the last overwrites one that no link
/// needs any more. Windows over several channels see rows that lie one below the other, and so the
/// rows before these are an image's, with its padding.
class chain_layout {
 public:
  /// Links, and what goes between them and behind.
  static constexpr std::size_t most = 2 * max_chain + 1;

  /// The rows that one link hands to the next, with the next one's padding beside them.
  struct ring {
    std::size_t rows = 0;  // that it holds
    std::size_t columns = 0;
    std::size_t pad_left = 0;  // columns
    std::size_t inside = 0;    // columns without the padding
    std::size_t panels = 0;
    std::size_t first = 0;    // element of the scratch memory
    std::size_t pad_top = 0;  // rows, where it holds a whole image

    [[nodiscard]] std::size_t pixels() const { return rows * columns; }
  };

  /// As many rows at a time as let the rings take `bytes`, at least one.
  chain_layout(std::span<const window_sizes> sizes, std::size_t panel_width,
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
  [[nodiscard]] const window_sizes& size(std::size_t link) const { return sizes_[link]; }
  /// Output rows of the chain that are made at a time.
  [[nodiscard]] std::size_t band() const { return band_; }
  /// The most rows that the first link makes at a time.
  [[nodiscard]] std::size_t first_rows() const { return count() == 1 ? band_ : rings_[0].rows; }

  /// Where link i's rows go.
  [[nodiscard]] const ring& behind(std::size_t link) const { return rings_[link]; }
  /// Elements from a panel to the next one in that ring.
  [[nodiscard]] std::size_t panel_step(std::size_t link) const {
    return rings_[link].pixels() * panel_width_;
  }
  /// The element at which link i's row begins, its padding left out.
  [[nodiscard]] std::size_t row(std::size_t link, std::size_t panel, std::size_t row) const {
    return padded_row(link, panel, row) + rings_[link].pad_left * panel_width_;
  }
  [[nodiscard]] std::size_t padded_row(std::size_t link, std::size_t panel, std::size_t row) const {
    const ring& r = rings_[link];
    return r.first + (panel * r.pixels() + (row + r.pad_top) % r.rows * r.columns) * panel_width_;
  }
  /// How many of its rows from this one on lie below each other before the ring begins anew.
  [[nodiscard]] std::size_t rows_until_turn(std::size_t link, std::size_t row) const {
    return rings_[link].rows - row % rings_[link].rows;
  }
  /// Where a row of zeros begins, as long as any, and where it ends, as do the rings and it.
  [[nodiscard]] std::size_t zeros() const { return zeros_; }
  [[nodiscard]] std::size_t end() const { return end_; }

  /// The rows of link i's input that its rows first ... end - 1 see.
  [[nodiscard]] std::size_t first_seen(std::size_t link, std::size_t first) const {
    const window2d& k = sizes_[link].window;
    return first * k.stride_height - std::min(first * k.stride_height, k.pad_top);
  }
  [[nodiscard]] std::size_t end_seen(std::size_t link, std::size_t end) const {
    const std::size_t padded = seen(link, end);
    return std::min(padded - std::min(padded, sizes_[link].window.pad_top), sizes_[link].h);
  }

  /// Fills what is never written with zeros: the rings' padding, that of the first ring with
  /// `first_padding`, and the row of zeros.
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
      T* at = scratch + r.first;
      for (std::size_t row = 0; row < r.panels * r.rows && r.columns > r.inside; ++row) {
        std::fill_n(at, r.pad_left * panel_width_, padding);
        at += (r.pad_left + r.inside) * panel_width_;
        at = std::fill_n(at, right * panel_width_, padding);
      }
    }
  }

 private:
  /// The rows, padding included, that so many output rows of a link see.
  [[nodiscard]] std::size_t seen(std::size_t link, std::size_t rows) const {
    const window2d& k = sizes_[link].window;
    return (rows - 1) * k.stride_height + (k.height - 1) * k.dilation_height + 1;
  }

  /// Whether a link behind the first has windows over several channels.
  [[nodiscard]] bool sees_image(std::size_t link) const {
    return sizes_[link].groups == 1 && !(sizes_[link].window == window2d{});
  }

  void lay_out(std::size_t band) {
    band_ = band;
    zeros_ = 0;
    std::size_t longest = 0;
    std::size_t rows = band;
    for (std::size_t i = count() - 1; i > 0; --i) {
      const window_sizes& next = sizes_[i];
      rows = std::min(seen(i, rows), next.h);
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

  std::span<const window_sizes> sizes_;
  std::size_t panel_width_;
  std::array<ring, most> rings_;
  std::size_t band_ = 1;
  std::size_t zeros_ = 0;
  std::size_t end_ = 0;
};

}  // namespace glia::cpu_loops
