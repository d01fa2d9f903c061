#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "glia/backends/cpu/convolution/chain_layout.hpp"
#include "glia/backends/cpu/convolution/padded_image.hpp"
#include "glia/backends/cpu/integers/quantized_packing.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/quantization.hpp"

namespace glia::cpu_loops {

/// The stages of a chain of quantized convolutions, in order: products, poolings, and products that
/// are pooled before their results become bytes. If the chain begins with a depthwise convolution,
/// a stage before it copies the input into panels.
class quantized_stages {
 public:
  enum class what : std::uint8_t { input, product, pooled_product, depthwise, pool };

  /// `products` has the sizes of the links' products.
  quantized_stages(const kernels::quantized_chain& k, const shape& x,
                   const std::array<window_sizes, max_chain>& products) {
    if (k.links[0].depthwise()) {
      add(what::input, 0, {x[0], x[1], x[2], x[3], x[1], x[2], x[3], 1, {}});
    }
    for (std::size_t i = 0; i < k.count; ++i) {
      if (pools_at_once(k.links[i], count_ == 0)) {
        add(what::pooled_product, i, with_pooling(products[i], k.links[i].pool));
        continue;
      }
      add(k.links[i].depthwise() ? what::depthwise : what::product, i, products[i]);
      if (k.links[i].pools()) {
        window_sizes pool = pool_rule(products[i].output(), k.links[i].pool);
        pool.groups = pool.c;  // each channel separately
        add(what::pool, i, pool);
      }
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] what kind(std::size_t stage) const { return kinds_[stage]; }
  [[nodiscard]] bool multiplies(std::size_t stage) const {
    return kinds_[stage] == what::product || kinds_[stage] == what::pooled_product;
  }
  [[nodiscard]] std::size_t link(std::size_t stage) const { return links_[stage]; }
  /// Returns the sizes of each stage. The window of a pooled product covers all inputs of one
  /// pooled output.
  [[nodiscard]] std::span<const window_sizes> sizes() const { return {sizes_.data(), count_}; }

 private:
  /// Returns whether a product is pooled before its results become bytes. The pooling windows must
  /// be separate groups of four outputs. A later 1 x 1 product, whose input is in panels, is
  /// excluded: a pooled product reads 2 x 2 pixels and cannot use a ring buffer of a few rows.
  [[nodiscard]] static bool pools_at_once(const quantized_link& link, bool first) {
    return !link.depthwise() && link.pool == window2d{2, 2, 2, 2} &&
           (first || !(link.product.window == window2d{}));
  }
  [[nodiscard]] static window_sizes with_pooling(window_sizes s, const window2d& pool) {
    const window_sizes pooled = pool_rule(s.output(), pool);
    window2d& k = s.window;
    k.height = (k.height - 1) * k.dilation_height + 1 + (pool.height - 1) * k.stride_height;
    k.width = (k.width - 1) * k.dilation_width + 1 + (pool.width - 1) * k.stride_width;
    k.stride_height *= pool.stride_height;
    k.stride_width *= pool.stride_width;
    k.dilation_height = k.dilation_width = 1;
    s.oh = pooled.oh;
    s.ow = pooled.ow;
    return s;
  }

  void add(what kind, std::size_t link, const window_sizes& s) {
    kinds_[count_] = kind;
    links_[count_] = link;
    sizes_[count_++] = s;
  }

  std::size_t count_ = 0;
  std::array<what, chain_layout::most> kinds_{};
  std::array<std::size_t, chain_layout::most> links_{};
  std::array<window_sizes, chain_layout::most> sizes_{};
};

/// The data that the threads of one call share, for a chain of quantized convolutions. As in
/// `chain_run`, a few rows at a time go through all stages. Results between stages are bytes.
template <class Loops>
class quantized_run {
 public:
  /// `pooled_scale` is the scale of the bytes that a final pooling reads, if there is a final
  /// pooling.
  quantized_run(const kernels::quantized_chain& k, const quantized_stages& stages, float x_scale,
                float pooled_scale, std::span<const std::uint8_t* const> packed,
                const memory_pool& memory, std::size_t threads)
      : kernel_(&k),
        per_scale_(1 / x_scale),
        pooled_scale_(pooled_scale),
        stages_(stages),
        layout_(stages_.sizes(), width, 1, ring_bytes),
        image_(stages_.sizes()[0]) {
    std::copy(packed.begin(), packed.end(), packed_.begin());
    for (std::size_t i = 0; i < stages_.count(); ++i) {
      if (stages_.multiplies(i) || kind(i) == what::depthwise) {
        panels_[i].emplace(link(i), stages_.link(i) == 0,
                           !layout_.last(i) || kind(i) == what::pooled_product);
      }
      if (stages_.multiplies(i)) {
        offsets_[i] = host_tensor<std::uint32_t>(memory, {panels_[i]->steps()});
        i == 0 ? list_first_offsets() : list_offsets(i);
      }
    }
    band_ = layout_.band();
    if (stages_.count() == 1) {
      const std::size_t row = std::max<std::size_t>(1, image_.row_size());
      band_ = std::clamp<std::size_t>(band_bytes / row, 1, band_);
    }
    const std::size_t first_rows = stages_.count() == 1 ? band_ : layout_.first_rows();
    const std::size_t image = begins_in_panels()
                                  ? layout_.behind(0).columns * width
                                  : image_.band(0, first_rows).input_rows * image_.row_size();
    scratch_size_ = (layout_.end() + image + 2 * slack) / slack * slack;
    scratch_ = host_tensor<float>(memory, {threads * scratch_size_}, element::byte);
  }
  quantized_run(const quantized_run&) = delete;
  quantized_run& operator=(const quantized_run&) = delete;

  [[nodiscard]] std::size_t output_rows() const { return layout_.size(last()).oh; }
  /// Returns the number of panels of a single product, or 1 for a longer chain.
  [[nodiscard]] std::size_t panels() const {
    return stages_.count() == 1 ? panels_[0]->count() : 1;
  }

  /// Computes output rows first ... end - 1 of an image. If the chain is one product, computes them
  /// only for the given panels.
  void rows(const float* x, float* y, std::size_t image, std::size_t first, std::size_t end,
            std::size_t first_panel, std::size_t end_panel, std::size_t thread) const {
    state s{x + image * sample_of(layout_.size(0).input()).size(),
            y + image * sample_of(layout_.size(last()).output()).size(),
            scratch_.bytes() + thread * scratch_size_,
            first_panel,
            end_panel,
            {}};
    if (begins_in_panels()) {
      const auto zero = static_cast<std::uint8_t>(link(0).input.zero);
      layout_.clear(s.scratch, zero);
      std::fill_n(s.scratch + layout_.end(), layout_.behind(0).columns * width, zero);
    } else {
      layout_.clear(s.scratch);
    }
    s.made[last()] = first;
    for (std::size_t i = last(); i > 0; --i) {
      s.made[i - 1] = layout_.first_seen(i, s.made[i]);
    }
    while (s.made[last()] < end) {
      make(s, last(), std::min(s.made[last()] + band_, end));
    }
  }

 private:
  using what = quantized_stages::what;

  static constexpr std::size_t width = Loops::panel_width;
  static constexpr std::size_t slack = 64;  // a read of a whole vector may pass the end
  // These sizes are fractions of a second-level cache of 512 KiB.
  static constexpr std::size_t ring_bytes = 256 << 10;
  static constexpr std::size_t band_bytes = 128 << 10;
  // Number of pixels for which a panel of weights stays in the first-level cache.
  static constexpr std::size_t pixels_at_a_time = 48;

  struct state {
    const float* x;  // the image
    float* y;
    std::uint8_t* scratch;
    std::size_t first_panel;
    std::size_t end_panel;
    std::array<std::size_t, chain_layout::most> made;  // number of finished rows of each stage
  };

  [[nodiscard]] std::size_t last() const { return stages_.count() - 1; }
  [[nodiscard]] what kind(std::size_t stage) const { return stages_.kind(stage); }
  [[nodiscard]] bool begins_in_panels() const { return kind(0) == what::input; }
  [[nodiscard]] const quantized_link& link(std::size_t stage) const {
    return kernel_->links[stages_.link(stage)];
  }
  [[nodiscard]] integer_products products(std::size_t stage, std::size_t panel) const {
    return panels_[stage]->read(packed_[stages_.link(stage)], panel, offsets_[stage].data());
  }

  /// Lists the offsets of the groups of four bytes in a patch of the image.
  void list_first_offsets() {
    const window2d& k = link(0).product.window;
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
  /// Lists the same offsets for pixels whose channels are in panels.
  void list_offsets(std::size_t stage) {
    const window2d& k = link(stage).product.window;
    const std::size_t row = layout_.behind(stage - 1).columns * width;
    std::uint32_t* at = offsets_[stage].data();
    for (std::size_t y = 0; y < k.height; ++y) {
      for (std::size_t x = 0; x < k.width; ++x) {
        for (std::size_t c = 0; c < layout_.size(stage).c; c += 4) {
          *at++ = static_cast<std::uint32_t>(y * k.dilation_height * row +
                                             x * k.dilation_width * width +
                                             c / width * layout_.panel_step(stage - 1) + c % width);
        }
      }
    }
  }

  /// Computes a stage's rows up to `end`. First computes the rows of earlier stages that these rows
  /// need.
  void make(state& s, std::size_t stage, std::size_t end) const {
    const std::size_t first = s.made[stage];
    if (first >= end) {
      return;
    }
    if (stage > 0) {
      // Rows that no window reads are skipped. They exist if strides are longer than windows.
      s.made[stage - 1] = std::max(s.made[stage - 1], layout_.first_seen(stage, first));
      make(s, stage - 1, layout_.end_seen(stage, end));
    }
    if (kind(stage) == what::input) {
      bring_into_panels(s, first, end);
    } else if (stages_.multiplies(stage)) {
      make_products(s, stage, first, end);
    } else {
      make_channels(s, stage, first, end);
    }
    s.made[stage] = end;
  }

  void bring_into_panels(const state& s, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(0);
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout_.behind(0).panels; ++panel) {
        const std::size_t channels = std::min(width, size.c - panel * width);
        const float* from = s.x + row * size.w * size.c + panel * width;
        std::uint8_t* to = s.scratch + layout_.row(0, panel, row);
        for (std::size_t column = 0; column < size.w; ++column) {
          loops_.quantize(from, channels, link(0).input, per_scale_, to);
          from += size.c;
          to += width;
        }
      }
    }
  }

  /// Runs a stage that processes each channel separately.
  void make_channels(const state& s, std::size_t stage, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(stage);
    const window2d& k = size.window;
    const std::uint8_t* const outside =
        s.scratch + (kind(stage - 1) == what::input ? layout_.end() : layout_.zeros());
    std::array<const std::uint8_t*, max_window_rows> seen;
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t panel = 0; panel < layout_.behind(stage - 1).panels; ++panel) {
        for (std::size_t tap = 0; tap < k.height; ++tap) {
          const std::size_t at = row * k.stride_height + tap * k.dilation_height - k.pad_top;
          seen[tap] = at < size.h ? s.scratch + layout_.padded_row(stage - 1, panel, at) : outside;
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
                              {}};
        std::uint8_t* const bytes =
            layout_.last(stage) ? nullptr : s.scratch + layout_.row(stage, panel, row);
        float* const numbers =
            layout_.last(stage) ? s.y + row * size.ow * size.o + panel * width : nullptr;
        if (kind(stage) == what::pool) {
          pool(window, bytes, numbers, size.o);
        } else {
          convolve(stage, panel, window, bytes, numbers, size.o);
        }
      }
    }
  }

  void convolve(std::size_t stage, std::size_t panel, integer_window& window, std::uint8_t* bytes,
                float* numbers, std::size_t outputs) const {
    window.by = products(stage, panel);
    if (numbers != nullptr) {
      window.out_step = outputs;
      loops_.convolve_channels(window, numbers);
    } else {
      loops_.convolve_channels(window, bytes);
    }
  }

  void pool(integer_window& window, std::uint8_t* bytes, float* numbers,
            std::size_t outputs) const {
    if (numbers == nullptr) {
      return loops_.pool_channels(window, bytes);
    }
    constexpr std::size_t at_a_time = 16;
    std::array<std::uint8_t, at_a_time * width> some;
    std::array<const std::uint8_t*, max_window_rows> rows;
    std::copy_n(window.rows, window.height, rows.begin());
    window.rows = rows.data();
    for (std::size_t left = window.columns; left > 0; left -= window.columns) {
      window.columns = std::min(at_a_time, left);
      loops_.pool_channels(window, some.data());
      for (std::size_t column = 0; column < window.columns; ++column, numbers += outputs) {
        loops_.dequantize(some.data() + column * width, window.channels, kernel_->pooled.zero,
                          pooled_scale_, numbers);
      }
      for (std::size_t row = 0; row < window.height; ++row) {
        rows[row] += window.columns * window.stride * width;
      }
    }
  }

  void make_products(const state& s, std::size_t stage, std::size_t first, std::size_t end) const {
    const window_sizes& size = layout_.size(stage);
    const std::uint8_t* const image = stage == 0 ? read_image(s, first, end) : nullptr;
    const bool single = stages_.count() == 1;
    const std::size_t first_panel = single ? s.first_panel : 0;
    const std::size_t end_panel = single ? s.end_panel : panels_[stage]->count();
    const std::size_t together = kind(stage) == what::pooled_product ? 4 : 1;
    const std::size_t at_a_time = pixels_at_a_time / together;
    const std::size_t outputs = (end - first) * size.ow;
    some_outputs some;
    std::size_t row = first;
    std::size_t column = 0;
    row_of_pixels at = pixels_of(s, stage, image, first, row, first_panel);
    for (std::size_t output = 0; output < outputs; output += at_a_time) {
      some.count = std::min(at_a_time, outputs - output);
      for (std::size_t p = 0; p < some.count; ++p) {
        const std::uint8_t* const from = at.from + column * at.from_step;
        if (together == 1) {
          some.from[p] = from;
        } else {
          some.from[4 * p] = from;
          some.from[4 * p + 1] = from + at.right;
          some.from[4 * p + 2] = from + at.below;
          some.from[4 * p + 3] = from + at.below + at.right;
        }
        some.numbers[p] = at.numbers + column * at.numbers_step;
        some.bytes[p] = at.bytes + column * at.bytes_step;
        if (++column == size.ow && output + p + 1 < outputs) {
          column = 0;
          at = pixels_of(s, stage, image, first, ++row, first_panel);
        }
      }
      for (std::size_t panel = first_panel; panel < end_panel; ++panel) {
        make_panel(stage, panel, some);
      }
    }
  }

  /// A group of outputs of a stage: pointers to their inputs and to their results, which are
  /// numbers or bytes.
  struct some_outputs {
    std::size_t count = 0;
    std::array<const std::uint8_t*, pixels_at_a_time> from;
    std::array<float*, pixels_at_a_time> numbers;
    std::array<std::uint8_t*, pixels_at_a_time> bytes;
  };

  /// Computes one panel of these outputs. Then it advances the result pointers to the next panel.
  void make_panel(std::size_t stage, std::size_t panel, some_outputs& some) const {
    const integer_products by = products(stage, panel);
    const bool last = layout_.last(stage);
    if (kind(stage) == what::product) {
      last ? loops_.multiply_to_numbers(by, some.from.data(), some.count, some.numbers.data())
           : loops_.multiply_to_bytes(by, some.from.data(), some.count, some.bytes.data());
    } else if (!last) {
      loops_.multiply_to_largest_bytes(by, some.from.data(), some.count, some.bytes.data());
    } else {
      std::array<std::uint8_t, pixels_at_a_time / 4 * width> pooled;
      std::array<std::uint8_t*, pixels_at_a_time / 4> to;
      for (std::size_t p = 0; p < some.count; ++p) {
        to[p] = pooled.data() + p * width;
      }
      loops_.multiply_to_largest_bytes(by, some.from.data(), some.count, to.data());
      for (std::size_t p = 0; p < some.count; ++p) {
        loops_.dequantize(to[p], by.outputs, kernel_->pooled.zero, pooled_scale_, some.numbers[p]);
      }
    }
    for (std::size_t p = 0; last && p < some.count; ++p) {
      some.numbers[p] += width;
    }
    for (std::size_t p = 0; !last && p < some.count; ++p) {
      some.bytes[p] += layout_.panel_step(stage);
    }
  }

  /// Pointers to the first window of a row of outputs and to its results, which are numbers or
  /// bytes.
  struct row_of_pixels {
    const std::uint8_t* from;
    std::size_t from_step;
    std::size_t right;  // distance from a pooled output to the next
    std::size_t below;
    float* numbers;
    std::size_t numbers_step;
    std::uint8_t* bytes;
    std::size_t bytes_step;
  };
  /// Returns the pointers for a row. `image` is the input of the first stage, from its output row
  /// `first` on.
  [[nodiscard]] row_of_pixels pixels_of(const state& s, std::size_t stage,
                                        const std::uint8_t* image, std::size_t first,
                                        std::size_t row, std::size_t first_panel) const {
    const window_sizes& size = layout_.size(stage);
    const window2d& k = size.window;
    const window2d& product = link(stage).product.window;
    row_of_pixels at{nullptr, 0, 0, 0, s.y, 0, s.scratch, 0};
    if (stage == 0) {
      const patch_grid grid = image_.grid({});
      at.from = image + (row - first) * grid.row_step;
      at.from_step = grid.column_step;
      at.right = product.stride_width * size.c;
      at.below = product.stride_height * image_.row_size();
    } else {
      at.from = s.scratch + layout_.padded_row(stage - 1, 0, row * k.stride_height - k.pad_top);
      at.from_step = k.stride_width * width;
      at.right = product.stride_width * width;
      at.below = product.stride_height * layout_.behind(stage - 1).columns * width;
    }
    if (layout_.last(stage)) {
      at.numbers += row * size.ow * size.o + first_panel * width;
      at.numbers_step = size.o;
    } else {
      at.bytes += layout_.row(stage, 0, row);
      at.bytes_step = width;
    }
    return at;
  }

  /// Returns the padded image rows, as bytes, that the given output rows of the first stage read.
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
  float pooled_scale_;
  quantized_stages stages_;
  chain_layout layout_;
  padded_image image_;
  std::size_t band_ = 1;
  std::array<const std::uint8_t*, max_chain> packed_{};
  std::array<std::optional<quantized_panels<Loops>>, chain_layout::most> panels_;
  std::array<host_tensor<std::uint32_t>, chain_layout::most> offsets_;
  std::size_t scratch_size_ = 0;  // bytes for each thread
  host_tensor<float> scratch_;
};

/// Computes quantized products, whose operands are bytes.
template <class T>
class quantization {
 public:
  using tensor = tensor_view<T>;

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

  /// Runs the chain. `others` holds the packed weights of each link, followed by the result.
  template <std::same_as<tensor>... Others>
  void compute(const kernels::quantized_chain& k, const memory_pool& memory, const tensor& x,
               const tensor& scale, const tensor& pooled_scale, const Others&... others) const {
    const std::array<const tensor*, sizeof...(Others)> all{&others...};
    std::array<const std::uint8_t*, max_chain> packed{};
    for (std::size_t i = 0; i < k.count; ++i) {
      packed[i] = all[i]->bytes();
    }
    const tensor& y = *all.back();
    if (y.size() == 0) {
      return;
    }
    const call one{k, x.shape(), static_cast<float>(scale.data()[0]),
                   pooled_scale ? static_cast<float>(pooled_scale.data()[0]) : 1,
                   std::span<const std::uint8_t* const>(packed).first(k.count)};
    if constexpr (std::same_as<T, float>) {
      run(one, x.data(), y.data(), memory);
    } else {  // bytes have no more digits than floats
      const host_tensor<float> from(memory, x.shape());
      const host_tensor<float> to(memory, y.shape());
      std::transform(x.data(), x.data() + x.size(), from.data(),
                     [](T number) { return static_cast<float>(number); });
      run(one, from.data(), to.data(), memory);
      std::copy_n(to.data(), to.size(), y.data());
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
      const bool few = images < few_images;
      const std::size_t slices =
          few && rows < few_rows * threads ? std::min(threads, run.panels()) : 1;
      const std::size_t parts = few && slices == 1 ? std::min(rows, threads) : 1;
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
