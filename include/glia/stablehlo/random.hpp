#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

#include "glia/core/random.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/kernels/noise.hpp"
#include "glia/stablehlo/elementwise.hpp"

namespace glia::stablehlo {

namespace detail {

/// Returns the low and the high half of the 64-bit product of 32-bit words and a constant. On
/// devices that emulate 64-bit integers, it is computed from products of 16-bit halves.
[[nodiscard]] inline std::pair<value, value> wide_product(const lowering& l, const value& x,
                                                          std::uint32_t factor) {
  writer& w = l.out;
  if (l.wide_integers) {
    const value product = w.multiply(w.convert(x, scalar::u64), static_cast<double>(factor));
    const value high = w.binary("shift_right_logical", product, w.constant(32, product));
    return {w.convert(product, x.type), w.convert(high, x.type)};
  }
  const value sixteen = w.constant(16, x);
  const value mask = w.constant(0xFFFF, x);
  const value low = w.binary("and", x, mask);
  const value high = w.binary("shift_right_logical", x, sixteen);
  const double factor_low = factor & 0xFFFF;
  const double factor_high = factor >> 16;
  const value low_low = w.multiply(low, factor_low);
  const value middle =
      w.add(w.multiply(high, factor_low), w.binary("shift_right_logical", low_low, sixteen));
  const value other = w.add(w.multiply(low, factor_high), w.binary("and", middle, mask));
  const value top =
      w.add(w.add(w.multiply(high, factor_high), w.binary("shift_right_logical", middle, sixteen)),
            w.binary("shift_right_logical", other, sixteen));
  return {w.multiply(x, static_cast<double>(factor)), top};
}

/// Computes Philox 4x32 with 10 rounds, like glia::philox: the four words of each block. c0 and c1,
/// of shape (n), are the low and the high words of the block indices. The words of the key are
/// tensors without axes.
[[nodiscard]] inline std::array<value, 4> philox(const lowering& l, value c0, value c1,
                                                 const value& stream, const value& step,
                                                 const value& seed_low, const value& seed_high) {
  writer& w = l.out;
  const shape s = c0.shape;
  value c2 = w.broadcast(stream, s, {});
  value c3 = w.broadcast(step, s, {});
  for (std::uint32_t round = 0; round < 10; ++round) {
    const auto word = [&](const value& key, std::uint32_t raised) {
      const value sum = w.add(key, static_cast<double>(static_cast<std::uint32_t>(round * raised)));
      return w.broadcast(sum, s, {});
    };
    const auto [low0, high0] = wide_product(l, c0, 0xD2511F53);
    const auto [low1, high1] = wide_product(l, c2, 0xCD9E8D57);
    c0 = w.binary("xor", w.binary("xor", high1, c1), word(seed_low, 0x9E3779B9));
    c1 = low1;
    c2 = w.binary("xor", w.binary("xor", high0, c3), word(seed_high, 0xBB67AE85));
    c3 = low0;
  }
  return {c0, c1, c2, c3};
}

/// Returns random words, or halves of words, for the elements of a tensor `s` (N, ...). The word or
/// half with index i belongs to element i of the whole batch. `key` contains the words of a
/// step_key.
[[nodiscard]] inline value random_of_elements(const lowering& l, const value& key, const shape& s,
                                              std::uint32_t stream, bool halves) {
  writer& w = l.out;
  const value words = w.call("bitcast_convert", {key}, "", key.shape, scalar::u32);
  const auto word = [&](std::int64_t i) {
    return w.reshape(w.slice(words, {i}, {i + 1}, {1}), {});
  };
  // The number of elements of the batch before this tensor: the index of the first sample times the
  // size of a sample. A block has four words or eight halves.
  const std::size_t in_block = halves ? 8 : 4;
  const std::uint32_t bits = halves ? 3 : 2;
  const std::size_t sample_size = sample_of(s).size();
  const auto [before_low, before_high] =
      wide_product(l, word(3), static_cast<std::uint32_t>(sample_size));
  const value first_low =
      w.binary("or", w.binary("shift_right_logical", before_low, w.constant(bits, before_low)),
               w.binary("shift_left", before_high, w.constant(32 - bits, before_low)));
  const value first_high =
      w.binary("shift_right_logical", before_high, w.constant(bits, before_low));
  // If each sample consists of whole blocks, the blocks keep an axis for the samples. Each of
  // several devices then computes only the blocks of its own samples.
  const bool whole = sample_size % in_block == 0;
  const shape blocks =
      whole ? shape{s[0], sample_size / in_block} : shape{(s.size() + in_block - 1) / in_block + 1};
  value index = w.iota(blocks, blocks.rank() - 1, scalar::u32);
  if (whole) {
    index =
        w.add(index, w.multiply(w.iota(blocks, 0, scalar::u32), static_cast<double>(blocks[1])));
  }
  const value first = w.broadcast(first_low, blocks, {});
  const value low = w.add(index, first);
  const value carry = w.convert(w.compare("LT", low, first), scalar::u32);
  const value high = w.add(w.broadcast(first_high, blocks, {}), carry);
  const std::array<value, 4> random =
      philox(l, low, high, w.constant(stream, {}, scalar::u32), word(2), word(0), word(1));

  shape piece_shape = blocks;
  piece_shape.push_back(1);
  values pieces;
  for (const value& r : random) {
    if (halves) {
      pieces.push_back(w.reshape(w.binary("and", r, w.constant(0xFFFF, r)), piece_shape));
      pieces.push_back(
          w.reshape(w.binary("shift_right_logical", r, w.constant(16, r)), piece_shape));
    } else {
      pieces.push_back(w.reshape(r, piece_shape));
    }
  }
  value result = w.concatenate(pieces, blocks.rank());
  if (!whole) {
    const value skipped = w.convert(
        w.binary("and", before_low, w.constant(static_cast<double>(in_block - 1), before_low)),
        scalar::i32);
    result = w.slice_at(w.reshape(result, {blocks.size() * in_block}), skipped, s.size());
  }
  return w.reshape(result, s);
}

}  // namespace detail

/// Drops the same elements as other devices: the 16-bit half word with index i decides about
/// element i of the batch.
[[nodiscard]] inline values lower(const lowering& l, const kernels::dropout& k, operand_list x) {
  writer& w = l.out;
  const shape& s = x[0].shape;
  if (s.size() == 0) {
    return {x[0]};
  }
  // An element is kept if its half word / 2^16 is at least the rate.
  const double threshold = std::ceil(k.rate * 0x1p16);
  const value mask =
      w.compare("GE", detail::random_of_elements(l, x[1], s, k.stream, true), threshold);
  return {w.select(mask, w.multiply(x[0], 1 / (1 - k.rate)), 0)};
}

/// Computes the noise from random words, in the same way as glia::normal_of.
[[nodiscard]] inline values lower(const lowering& l, const kernels::gaussian_noise& k,
                                  operand_list x) {
  writer& w = l.out;
  const shape& s = x[0].shape;
  if (s.size() == 0) {
    return {x[0]};
  }
  const value words = detail::random_of_elements(l, x[1], s, k.stream, false);
  const value bits = w.binary("shift_right_logical", words, w.constant(8, words));
  const value whole = w.convert(bits, scalar::i32);
  const value odd = w.add(w.multiply(whole, 2), 1 - 0x1p24);
  const value u = w.multiply(w.convert(odd, l.real), 0x1p-24);
  const value unit = w.constant(1, u);
  const value v =
      w.unary("negate", w.unary("log", w.multiply(w.subtract(unit, u), w.add(unit, u))));
  const auto polynomial = [&](const value& argument, std::span<const double> coefficients) {
    value p = w.constant(coefficients[0], argument);
    for (const double c : coefficients.subspan(1)) {
      p = w.add(w.multiply(p, argument), c);
    }
    return p;
  };
  const value near = polynomial(w.add(v, -2.5), inverse_error_function::near);
  const value far = polynomial(w.add(w.sqrt(v), -3), inverse_error_function::far);
  const value size = w.select(w.compare("LT", v, 5), near, far);
  return {w.add(x[0], w.multiply(w.multiply(size, u), k.deviation * std::numbers::sqrt2))};
}

}  // namespace glia::stablehlo
