#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "glia/core/random.hpp"
#include "glia/kernels/dropout.hpp"
#include "glia/stablehlo/elementwise.hpp"

namespace glia::stablehlo {

namespace detail {

/// The low and the high half of a 64-bit product of 32-bit words and a constant; on devices that
/// would emulate 64-bit integers, of products of 16-bit halves.
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

/// Philox 4x32 with 10 rounds, as glia::philox: the four words of each block, whose index is given
/// in two words (n); the key's words are tensors without axes.
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

}  // namespace detail

/// The same elements as everywhere: half word i of the sequence decides on element i of the batch.
[[nodiscard]] inline values lower(const lowering& l, const kernels::dropout& k, operand_list x) {
  writer& w = l.out;
  const shape& s = x[0].shape;
  if (s.size() == 0) {
    return {x[0]};
  }
  const value words = w.call("bitcast_convert", {x[1]}, "", x[1].shape, scalar::u32);
  const auto word = [&](std::int64_t i) {
    return w.reshape(w.slice(words, {i}, {i + 1}, {1}), {});
  };
  // Elements before the first one at hand: the first sample times the elements of one. A block of
  // four words has eight halves.
  const auto [before_low, before_high] =
      detail::wide_product(l, word(3), static_cast<std::uint32_t>(sample_of(s).size()));
  constexpr std::size_t in_block = 8;
  const std::size_t each = sample_of(s).size();
  const value three = w.constant(3, before_low);
  const value first_low = w.binary("or", w.binary("shift_right_logical", before_low, three),
                                   w.binary("shift_left", before_high, w.constant(29, before_low)));
  const value first_high = w.binary("shift_right_logical", before_high, three);
  // Blocks that begin where samples do stay with them: several devices then each make those of
  // their own samples.
  const bool whole = each % in_block == 0;
  const shape blocks =
      whole ? shape{s[0], each / in_block} : shape{(s.size() + in_block - 1) / in_block + 1};
  value at = w.iota(blocks, blocks.rank() - 1, scalar::u32);
  if (whole) {
    at = w.add(at, w.multiply(w.iota(blocks, 0, scalar::u32), static_cast<double>(blocks[1])));
  }
  const value first = w.broadcast(first_low, blocks, {});
  const value low = w.add(at, first);
  const value carry = w.convert(w.compare("LT", low, first), scalar::u32);
  const value high = w.add(w.broadcast(first_high, blocks, {}), carry);
  const std::array<value, 4> random = detail::philox(
      l, low, high, w.constant(k.stream, {}, scalar::u32), word(2), word(0), word(1));

  std::array<value, 8> halves;
  for (std::size_t i = 0; i < random.size(); ++i) {
    const value low_half = w.binary("and", random[i], w.constant(0xFFFF, random[i]));
    const value high_half = w.binary("shift_right_logical", random[i], w.constant(16, random[i]));
    shape one = blocks;
    one.push_back(1);
    halves[2 * i] = w.reshape(low_half, one);
    halves[2 * i + 1] = w.reshape(high_half, one);
  }
  value mine = w.concatenate(halves, blocks.rank());
  if (!whole) {
    const value skipped =
        w.convert(w.binary("and", before_low, w.constant(in_block - 1, before_low)), scalar::i32);
    mine = w.slice_at(w.reshape(mine, {blocks.size() * in_block}), skipped, s.size());
  }
  mine = w.reshape(mine, s);
  // A half times 2^-16 is at least the rate.
  const double least = std::ceil(k.rate * 0x1p16);
  const value kept = w.compare("GE", mine, least);
  return {w.select(kept, w.multiply(x[0], 1 / (1 - k.rate)), 0)};
}

}  // namespace glia::stablehlo
