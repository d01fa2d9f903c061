#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "glia/backends/cpu/attention/head_products.hpp"
#include "glia/backends/cpu/isa/with_isa.hpp"
#include "glia/backends/cpu/threads/workers.hpp"
#include "glia/backends/host_tensor.hpp"
#include "glia/kernels/attention.hpp"

namespace glia::cpu_loops {

/// Computes attention and its gradients. A thread computes one head of one sample at a time, or
/// some queries of it. The scores exist only for a few queries, in a cache. With a causal mask, the
/// keys after those of a tile of queries are skipped.
template <class T>
class attention {
 public:
  using tensor = detail::tensor_view<T>;

  explicit attention(const workers& team) : team_(&team) {}

  void compute(const kernels::attention& k, const memory_pool& memory, const tensor& queries,
               const tensor& keys, const tensor& values, const tensor& first_position,
               const tensor& y, const tensor& saved) const {
    sizes s(k.num_heads, k.causal, queries, keys, values);
    if (first_position) {
      const auto position = static_cast<std::size_t>(first_position.data()[0]);
      s.first = std::min(position, s.keys - s.queries);
    }
    with_isa(team_->level(), [&](auto loops) {
      const head_products<T, decltype(loops)> product(loops, *team_);
      constexpr std::size_t tile = product.tile_rows;
      const std::size_t columns = product.padded(s.keys);
      const std::size_t outputs = product.padded(s.value_channels);
      const std::size_t step = product.row_step(columns);
      const std::size_t scratch_size =
          columns * s.channels + step * tile + outputs * (s.keys + tile);
      const std::size_t parts = parts_of_queries(s);
      const auto attend = [&](std::size_t sample, std::size_t head, std::size_t part, T* scratch) {
        T* const packed_keys = scratch;
        T* const packed_values = packed_keys + columns * s.channels;
        T* const scores = packed_values + outputs * s.keys;
        T* const sums = scores + step * tile;
        const auto q = s.head_of(queries, sample, head);
        const auto target = s.head_of(y, sample, head);
        const std::size_t tiles = (s.queries + tile - 1) / tile;
        const std::size_t end_of_part = std::min((part + 1) * tiles / parts * tile, s.queries);
        const std::size_t most_keys = s.end_of_keys(end_of_part);
        product.pack_transposed(s.head_of(keys, sample, head), s.channels, most_keys, packed_keys);
        product.pack(s.head_of(values, sample, head), most_keys, s.value_channels, packed_values);
        for (std::size_t first = part * tiles / parts * tile; first < end_of_part; first += tile) {
          const std::size_t count = std::min(tile, end_of_part - first);
          const std::size_t end = s.end_of_keys(first + count);
          product.multiply({q.row(first), q.step}, packed_keys, s.channels, s.channels, end, count,
                           {scores, step}, false);
          T factors[tile];
          for (std::size_t i = 0; i < count; ++i) {
            T* const row = scores + i * step;
            const std::size_t n = s.end_of_keys(first + i + 1);
            const T highest = loops.shifted_exponentials(row, n, s.scale());
            factors[i] = T{1} / loops.sum(row, n);
            std::fill(row + n, row + end, T{0});
            if (saved) {
              T* const statistics = s.saved_of(saved, sample, head) + first + i;
              statistics[0] = highest;
              statistics[s.queries] = factors[i];
            }
          }
          product.multiply({scores, step}, packed_values, most_keys, end, s.value_channels, count,
                           {sums, outputs}, false);
          for (std::size_t i = 0; i < count; ++i) {
            loops.scale_to(sums + i * outputs, factors[i], target.row(first + i), s.value_channels);
          }
        }
      };
      for_heads(s, parts, scratch_size, memory, attend);
    });
  }

  void compute(const kernels::attention_gradient& k, const memory_pool& memory, const tensor& dy,
               const tensor& queries, const tensor& keys, const tensor& values, const tensor& saved,
               const tensor& dqueries, const tensor& dkeys, const tensor& dvalues) const {
    const sizes s(k.num_heads, k.causal, queries, keys, values);
    with_isa(team_->level(), [&](auto loops) {
      const head_products<T, decltype(loops)> product(loops, *team_);
      constexpr std::size_t tile = product.tile_rows;
      constexpr std::size_t block = 48;  // queries whose weights are kept; whole tiles
      static_assert(block % tile == 0);
      const std::size_t columns = product.padded(s.keys);
      const std::size_t inner = product.padded(s.channels);
      const std::size_t outputs = product.padded(s.value_channels);
      const std::size_t step = product.row_step(columns);
      const std::size_t scratch_size = columns * (s.channels + s.value_channels) +
                                       inner * (2 * s.keys + block + tile) +
                                       outputs * (s.keys + block) + 2 * block * step;
      const auto add_gradients = [&](std::size_t sample, std::size_t head, std::size_t,
                                     T* scratch) {
        const auto take = [&](std::size_t size) { return std::exchange(scratch, scratch + size); };
        T* const packed_keys = take(columns * s.channels);
        T* const packed_values = take(columns * s.value_channels);
        T* const key_rows = take(inner * s.keys);
        T* const query_rows = take(inner * block);
        T* const dy_rows = take(outputs * block);
        T* const weights = take(block * step);
        T* const dscores = take(block * step);
        T* const dq = take(inner * tile);
        const strided_rows<T> dk{take(inner * s.keys), inner};
        const strided_rows<T> dv{take(outputs * s.keys), outputs};
        const auto q = s.head_of(queries, sample, head);
        const auto g = s.head_of(dy, sample, head);
        const auto target = s.head_of(dqueries, sample, head);
        const T* const statistics = s.saved_of(saved, sample, head);
        product.pack_transposed(s.head_of(keys, sample, head), s.channels, s.keys, packed_keys);
        product.pack_transposed(s.head_of(values, sample, head), s.value_channels, s.keys,
                                packed_values);
        product.pack(s.head_of(keys, sample, head), s.keys, s.channels, key_rows);
        std::fill_n(dk.data, inner * s.keys, T{0});
        std::fill_n(dv.data, outputs * s.keys, T{0});
        for (std::size_t first = 0; first < s.queries; first += block) {
          const std::size_t rows = std::min(block, s.queries - first);
          const std::size_t end = s.end_of_keys(first + rows);
          product.pack({q.row(first), q.step}, rows, s.channels, query_rows);
          product.pack({g.row(first), g.step}, rows, s.value_channels, dy_rows);
          for (std::size_t start = 0; start < rows; start += tile) {
            const std::size_t count = std::min(tile, rows - start);
            const std::size_t query = first + start;
            const std::size_t tile_end = s.end_of_keys(query + count);
            T* const p = weights + start * step;
            T* const d = dscores + start * step;
            product.multiply({q.row(query), q.step}, packed_keys, s.channels, s.channels, tile_end,
                             count, {p, step}, false);
            product.multiply({g.row(query), g.step}, packed_values, s.value_channels,
                             s.value_channels, tile_end, count, {d, step}, false);
            for (std::size_t i = 0; i < count; ++i) {
              const std::size_t n = s.end_of_keys(query + i + 1);
              T* const weight = p + i * step;
              T* const gradient = d + i * step;
              loops.softmax_weights(weight, n, s.scale(), statistics[query + i],
                                    statistics[s.queries + query + i]);
              loops.score_gradients(weight, loops.dot(weight, gradient, n), gradient, n);
              std::fill(weight + n, weight + end, T{0});
              std::fill(gradient + n, gradient + end, T{0});
            }
            product.multiply({d, step}, key_rows, s.keys, tile_end, s.channels, count, {dq, inner},
                             false);
            for (std::size_t i = 0; i < count; ++i) {
              loops.scale_to(dq + i * inner, s.scale(), target.row(query + i), s.channels);
            }
          }
          for (std::size_t key = 0; key < end; key += tile) {
            const std::size_t count = std::min(tile, end - key);
            product.multiply({weights + key, step, true}, dy_rows, rows, rows, s.value_channels,
                             count, {dv.row(key), dv.step}, true);
            product.multiply({dscores + key, step, true}, query_rows, rows, rows, s.channels, count,
                             {dk.row(key), dk.step}, true);
          }
        }
        for (std::size_t key = 0; key < s.keys; ++key) {
          loops.scale_to(dk.row(key), s.scale(), s.head_of(dkeys, sample, head).row(key),
                         s.channels);
          std::copy_n(dv.row(key), s.value_channels, s.head_of(dvalues, sample, head).row(key));
        }
      };
      for_heads(s, 1, scratch_size, memory, add_gradients);
    });
  }

 private:
  struct sizes {
    std::size_t samples, heads, queries, keys, channels, value_channels;
    bool causal;
    std::size_t first = 0;  // position of the first query among the keys

    sizes(std::size_t num_heads, bool is_causal, const tensor& q, const tensor& k, const tensor& v)
        : samples(q.shape()[0]),
          heads(num_heads),
          queries(q.shape()[1]),
          keys(k.shape()[1]),
          channels(q.shape()[2] / num_heads),
          value_channels(v.shape()[2] / num_heads),
          causal(is_causal) {}

    /// Returns the end of the keys that the queries before `end_of_queries` read.
    [[nodiscard]] std::size_t end_of_keys(std::size_t end_of_queries) const {
      return causal ? first + end_of_queries : keys;
    }
    [[nodiscard]] T scale() const { return T{1} / std::sqrt(static_cast<T>(channels)); }
    /// Returns the rows of one head in a tensor (N, T, H C).
    [[nodiscard]] strided_rows<T> head_of(const tensor& x, std::size_t sample,
                                          std::size_t head) const {
      const std::size_t step = x.shape()[2];
      return {x.data() + sample * x.shape()[1] * step + head * (step / heads), step};
    }
    [[nodiscard]] T* saved_of(const tensor& saved, std::size_t sample, std::size_t head) const {
      return saved.data() + (sample * heads + head) * 2 * queries;
    }
  };

  /// Returns the number of parts into which the queries of a head are cut, so that a few heads keep
  /// all threads busy. Each part packs the keys and values.
  [[nodiscard]] std::size_t parts_of_queries(const sizes& s) const {
    constexpr std::size_t least_queries = 64;
    const std::size_t heads = std::max<std::size_t>(s.samples * s.heads, 1);
    const std::size_t enough_parts = (2 * team_->threads() + heads - 1) / heads;
    return std::clamp<std::size_t>(s.queries / least_queries, 1, enough_parts);
  }

  /// Calls body(sample, head, part, memory of the thread with `scratch_size` elements).
  template <class Body>
  void for_heads(const sizes& s, std::size_t parts, std::size_t scratch_size,
                 const memory_pool& memory, const Body& body) const {
    const detail::host_tensor<T> scratch(memory, {team_->threads(), scratch_size});
    team_->run(s.samples * s.heads * parts, [&](std::size_t task, std::size_t thread) {
      const std::size_t head = task / parts;
      body(head / s.heads, head % s.heads, task % parts, scratch.data() + thread * scratch_size);
    });
  }

  const workers* team_;
};

}  // namespace glia::cpu_loops
