#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "glia/backends/cpu/chain_layout.hpp"
#include "glia/backends/cpu/integer_loops.hpp"
#include "glia/backends/cpu/patch_grid.hpp"
#include "glia/backends/cpu/quantized_packing.hpp"
#include "glia/backends/cpu/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// One call of a chain of quantised convolutions: what its threads share. As in `chain_run`, a few
/// rows at a time go through all links; between them lie bytes. A chain that begins with a
/// depthwise convolution has its input brought into panels by a link of its own.
template <class Loops>
class quantized_run {
 public:
  quantized_run(const kernels::quantized_chain& k, const shape& x, float x_scale,
                std::span<const std::uint8_t* const> packed, const memory_pool& memory,
                std::size_t threads)
      : kernel_(&k),
        per_scale_(1 / x_scale),
        lead_(k.links[0].depthwise() ? 1 : 0),
        sizes_(with_lead(k, x, lead_)),
        layout_(std::span(sizes_).first(k.count + lead_), width, 1, ring_bytes),
        image_(sizes_[0]) {
    std::copy(packed.begin(), packed.end(), packed_.begin());
    for (std::size_t i = lead_; i < layout_.count(); ++i) {
      panels_[i].emplace(link(i), i == 0, !layout_.last(i));
      if (!link(i).depthwise()) {
        offsets_[i] = host_tensor<std::uint32_t>(memory, {panels_[i]->steps()});
        i == 0 ? list_first_offsets() : list_offsets(i);
      }
    }
    band_ = layout_.band();
    if (layout_.count() == 1) {
      const std::size_t row = std::max<std::size_t>(1, image_.row_size());
      band_ = std::clamp<std::size_t>(band_bytes / row, 1, band_);
    }
    const std::size_t first_rows = layout_.count() == 1 ? band_ : layout_.first_rows();
    const std::size_t band = lead_ == 1 ? layout_.behind(0).columns * width
                                        : image_.band(0, first_rows).input_rows * image_.row_size();
    scratch_size_ = (layout_.end() + band + 2 * slack) / slack * slack;
    scratch_ = host_tensor<float>(memory, {threads * scratch_size_}, element::byte);
  }
  quantized_run(const quantized_run&) = delete;
  quantized_run& operator=(const quantized_run&) = delete;

  /// Of the last link's panels, if it is the only one.
  [[nodiscard]] std::size_t panels() const {
    return layout_.count() == 1 ? panels_[0]->count() : 1;
  }

  /// Output rows first ... end - 1 of an image; where there is one link, those of some panels.
  void rows(const float* x, float* y, std::size_t image, std::size_t first, std::size_t end,
            std::size_t first_panel, std::size_t end_panel, std::size_t thread) const {
    const std::size_t last = layout_.count() - 1;
    state s{x + image * sample_of(layout_.size(0).input()).size(),
            y + image * sample_of(layout_.size(last).output()).size(),
            scratch_.bytes() + thread * scratch_size_,
            first_panel,
            end_panel,
            {}};
    if (lead_ == 1) {
      const auto zero = static_cast<std::uint8_t>(link(1).input.zero);
      layout_.clear(s.scratch, zero);
      std::fill_n(s.scratch + layout_.end(), layout_.behind(0).columns * width, zero);
    } else {
      layout_.clear(s.scratch);
    }
    s.made[last] = first;
    for (std::size_t i = last; i > 0; --i) {
      s.made[i - 1] = layout_.first_seen(i, s.made[i]);
    }
    while (s.made[last] < end) {
      make(s, last, std::min(s.made[last] + band_, end));
    }
  }

 private:
  static constexpr std::size_t width = Loops::panel_width;
  static constexpr std::size_t slack = 64;  // a vector may be read past the end
  // Shares of a second-level cache of 512 KiB.
  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr std::size_t band_bytes = 128 << 10;
  // Pixels for which a panel of weights is read from the first-level cache.
  static constexpr std::size_t pixels_at_a_time = 48;

  using all_sizes = std::array<window_sizes, max_chain + 1>;

  struct state {
    const float* x;  // the image
    float* y;
    std::uint8_t* scratch;
    std::size_t first_panel;
    std::size_t end_panel;
    std::array<std::size_t, max_chain + 1> made;  // each link's rows so far
  };

  static all_sizes with_lead(const kernels::quantized_chain& k, const shape& x, std::size_t lead) {
    all_sizes all{};
    const auto links = k.sizes(x);
    std::copy(links.begin(), links.end(), all.begin() + static_cast<std::ptrdiff_t>(lead));
    if (lead == 1) {
      all[0] = {x[0], x[1], x[2], x[3], x[1], x[2], x[3], 1, {}};
    }
    return all;
  }

  [[nodiscard]] const quantized_link& link(std::size_t i) const {
    return kernel_->links[i - lead_];
  }

  /// Where the fours of a patch of the image are.
  void list_first_offsets() {
    const window2d& k = layout_.size(0).window;
    const std::size_t c = layout_.size(0).c;
    const std::size_t run = quantized_weights::run_length(link(0), true);
    std::uint32_t* at = offsets_[0].data();
    for (std::size_t y = 0; y < k.height; ++y) {
      for (std::size_t x = 0; x < k.width * c / run; ++x) {
        for (std::size_t i = 0; i < run; i += 4) {
          *at++ = static_cast<std::uint32_t>(y * k.dilation_height * image_.row_size() +
                                             x * k.dilation_width * c + i);
        }
      }
    }
  }
  /// Where the fours of a pixel's channels are, which lie in panels.
  void list_offsets(std::size_t i) {
    for (std::size_t step = 0; step < offsets_[i].size(); ++step) {
      offsets_[i].data()[step] = static_cast<std::uint32_t>(
          4 * step / width * layout_.panel_step(i - 1) + 4 * step % width);
    }
  }

  /// Link i's rows up to `end`, after what they need of the links before it.
  void make(state& s, std::size_t i, std::size_t end) const {
    const std::size_t first = s.made[i];
    if (first >= end) {
      return;
    }
    if (i > 0) {
      // Rows that no window sees, as where strides are longer than windows, are not made.
      s.made[i - 1] = std::max(s.made[i - 1], layout_.first_seen(i, first));
      make(s, i - 1, layout_.end_seen(i, end));
    }
    if (i < lead_) {
      bring_into_panels(s, first, end);
    } else if (link(i).depthwise()) {
      make_depthwise(s, i, first, end);
    } else {
      make_products(s, i, first, end);
    }
    s.made[i] = end;
  }

  void bring_into_panels(const state& s, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(0);
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout_.behind(0).panels; ++panel) {
        const std::size_t channels = std::min(width, size.c - panel * width);
        const float* from = s.x + row * size.w * size.c + panel * width;
        std::uint8_t* to = s.scratch + layout_.row(0, panel, row);
        for (std::size_t column = 0; column < size.w; ++column) {
          loops_.quantize(from, channels, link(1).input, per_scale_, to);
          from += size.c;
          to += width;
        }
      }
    }
  }

  void make_depthwise(const state& s, std::size_t i, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(i);
    const window2d& k = size.window;
    const std::uint8_t* const outside = s.scratch + (i == lead_ ? layout_.end() : layout_.zeros());
    std::array<const std::uint8_t*, max_window_rows> seen;
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < panels_[i]->count(); ++panel) {
        for (std::size_t tap = 0; tap < k.height; ++tap) {
          const std::size_t at = row * k.stride_height + tap * k.dilation_height - k.pad_top;
          seen[tap] = at < size.h ? s.scratch + layout_.padded_row(i - 1, panel, at) : outside;
        }
        integer_window window{seen.data(),
                              k.height,
                              k.width,
                              k.stride_width,
                              k.dilation_width,
                              size.ow,
                              std::min(width, size.o - panel * width),
                              width,
                              width,
                              panels_[i]->read(packed_[i - lead_], panel, nullptr)};
        if (layout_.last(i)) {
          window.out_step = size.o;
          loops_.convolve_channels(window, s.y + row * size.ow * size.o + panel * width);
        } else {
          loops_.convolve_channels(window, s.scratch + layout_.row(i, panel, row));
        }
      }
    }
  }

  void make_products(const state& s, std::size_t i, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(i);
    const std::uint8_t* const image = i == 0 ? read_image(s, first, end) : nullptr;
    const std::size_t pixels = (end - first) * size.ow;
    const bool last = layout_.last(i);
    const std::size_t first_panel = last ? s.first_panel : 0;
    const std::size_t end_panel = last && layout_.count() == 1 ? s.end_panel : panels_[i]->count();
    std::array<const std::uint8_t*, pixels_at_a_time> from;
    std::array<std::uint8_t*, pixels_at_a_time> bytes;
    std::array<float*, pixels_at_a_time> numbers;
    for (std::size_t pixel = 0; pixel < pixels; pixel += pixels_at_a_time) {
      const std::size_t count = std::min(pixels_at_a_time, pixels - pixel);
      for (std::size_t p = 0; p < count; ++p) {
        const std::size_t row = first + (pixel + p) / size.ow;
        const std::size_t column = (pixel + p) % size.ow;
        if (i == 0) {
          const patch_grid grid = image_.grid({});
          from[p] = image + (row - first) * grid.row_step + column * grid.column_step;
        } else {
          from[p] = s.scratch + layout_.padded_row(i - 1, 0, row) + column * width;
        }
        if (last) {
          numbers[p] = s.y + (row * size.ow + column) * size.o + first_panel * width;
        } else {
          bytes[p] = s.scratch + layout_.row(i, 0, row) + column * width;
        }
      }
      for (std::size_t panel = first_panel; panel < end_panel; ++panel) {
        const integer_products by = panels_[i]->read(packed_[i - lead_], panel, offsets_[i].data());
        if (last) {
          loops_.multiply_to_numbers(by, from.data(), count, numbers.data());
          for (std::size_t p = 0; p < count; ++p) {
            numbers[p] += width;
          }
        } else {
          loops_.multiply_to_bytes(by, from.data(), count, bytes.data());
          for (std::size_t p = 0; p < count; ++p) {
            bytes[p] += layout_.panel_step(i);
          }
        }
      }
    }
  }

  /// The rows of the image that some output rows of the first link see, as bytes, with the padding.
  [[nodiscard]] const std::uint8_t* read_image(const state& s, std::size_t first,
                                               std::size_t end) const {
    const window_sizes& size = layout_.size(0);
    const window2d& k = size.window;
    const byte_range& range = link(0).input;
    const auto zero = static_cast<std::uint8_t>(range.zero);
    const row_band band = image_.band(first, end - first);
    const std::size_t left = k.pad_left * size.c;
    const std::size_t inside = size.w * size.c;
    std::uint8_t* to = s.scratch + layout_.end();
    for (std::size_t row = 0; row < band.input_rows; ++row, to += image_.row_size()) {
      const std::size_t at = first * k.stride_height + row - k.pad_top;  // wraps around above
      if (at >= size.h) {
        std::fill_n(to, image_.row_size(), zero);
        continue;
      }
      std::fill_n(to, left, zero);
      loops_.quantize(s.x + at * inside, inside, range, per_scale_, to + left);
      std::fill_n(to + left + inside, k.pad_right * size.c, zero);
    }
    return s.scratch + layout_.end();
  }

  Loops loops_{};
  const kernels::quantized_chain* kernel_;
  float per_scale_;
  std::size_t lead_;
  all_sizes sizes_;
  chain_layout layout_;
  padded_image image_;
  std::size_t band_ = 1;
  std::array<const std::uint8_t*, max_chain> packed_{};
  std::array<std::optional<quantized_panels<Loops>>, max_chain + 1> panels_;
  std::array<host_tensor<std::uint32_t>, max_chain + 1> offsets_;
  std::size_t scratch_size_ = 0;  // bytes for each thread
  host_tensor<float> scratch_;
};

/// Products of bytes.
template <class T>
class quantization {
 public:
  using tensor = host_tensor<T>;

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

  /// Operands behind the scale are the packed weights of each link; then comes the result.
  template <std::same_as<tensor>... Others>
  void compute(const kernels::quantized_chain& k, const memory_pool& memory, const tensor& x,
               const tensor& scale, const Others&... others) const {
    const std::array<const tensor*, sizeof...(Others)> all{&others...};
    std::array<const std::uint8_t*, max_chain> packed{};
    for (std::size_t i = 0; i < k.count; ++i) {
      packed[i] = all[i]->bytes();
    }
    const tensor& y = *all.back();
    const auto by = std::span<const std::uint8_t* const>(packed).first(k.count);
    const auto x_scale = static_cast<float>(scale.data()[0]);
    if (y.size() == 0) {
      return;
    }
    if constexpr (std::same_as<T, float>) {
      run(k, x.shape(), x.data(), x_scale, by, y.data(), memory);
    } else {  // bytes have no more digits than floats
      const host_tensor<float> from(memory, x.shape());
      const host_tensor<float> to(memory, y.shape());
      std::transform(x.data(), x.data() + x.size(), from.data(),
                     [](T one) { return static_cast<float>(one); });
      run(k, x.shape(), from.data(), x_scale, by, to.data(), memory);
      std::copy_n(to.data(), to.size(), y.data());
    }
  }

 private:
  // As in convolution_chain.
  static constexpr std::size_t few_images = 8;

  void run(const kernels::quantized_chain& k, const shape& of_x, const float* x, float scale,
           std::span<const std::uint8_t* const> packed, float* y, const memory_pool& memory) const {
    with_integer_isa(team_->level(), [&](auto loops) {
      const quantized_run<decltype(loops)> run(k, of_x, scale, packed, memory, team_->threads());
      const std::size_t images = of_x[0];
      const std::size_t rows = k.sizes(of_x)[k.count - 1].oh;
      const std::size_t threads = team_->threads();
      const std::size_t parts = images >= few_images ? 1 : std::min(rows, threads);
      const std::size_t slices = images * parts < threads ? std::min(threads, run.panels()) : 1;
      team_->run(images * parts * slices, [&](std::size_t task, std::size_t thread) {
        const std::size_t slice = task % slices;
        const std::size_t part = task / slices % parts;
        run.rows(x, y, task / slices / parts, part * rows / parts, (part + 1) * rows / parts,
                 slice * run.panels() / slices, (slice + 1) * run.panels() / slices, thread);
      });
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
