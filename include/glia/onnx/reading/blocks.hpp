#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/onnx/reading/parts.hpp"

// Blocks of images, triangles of matrices, and reversed sequences.
namespace glia::onnx::reading {

/// Returns the attribute `blocksize`: the number of pixels along one side of a block.
[[nodiscard]] inline std::size_t block_size(const operation& n) {
  const std::int64_t size = n.integer("blocksize", 0);
  require<data_error>(size > 0 && size < 1 << 16, "has the block size ", size,
                      "; expected 1 to 65535");
  return static_cast<std::size_t>(size);
}

inline void depth_to_space(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t b = block_size(n);
  require<data_error>(x.rank() == 4 && b > 0 && b <= x.extents[1] && x.extents[1] % (b * b) == 0,
                      "cannot divide into blocks of ", b, " a tensor of shape ", words(x.extents));
  const dims& s = x.extents;
  const std::size_t c = s[1] / (b * b);
  const bool columns_first = n.word("mode", "DCR") == "CRD";
  const tensor parts = reshaped(
      n.out, x, columns_first ? dims{s[0], c, b, b, s[2], s[3]} : dims{s[0], b, b, c, s[2], s[3]});
  const tensor turned = transposed(
      parts, columns_first ? axis_order{0, 1, 4, 2, 5, 3} : axis_order{0, 3, 4, 1, 5, 2});
  n.give(reshaped(n.out, turned, {s[0], c, s[2] * b, s[3] * b}));
}
inline void space_to_depth(operation& n) {
  const tensor& x = n.operand(0);
  const std::size_t b = block_size(n);
  require<data_error>(x.rank() == 4 && b > 0 && x.extents[2] % b == 0 && x.extents[3] % b == 0,
                      "cannot divide into blocks of ", b, " a tensor of shape ", words(x.extents));
  const dims& s = x.extents;
  const tensor parts = reshaped(n.out, x, {s[0], s[1], s[2] / b, b, s[3] / b, b});
  const tensor turned = transposed(parts, {0, 3, 5, 1, 2, 4});
  n.give(reshaped(n.out, turned, {s[0], count_of({s[1], b, b}), s[2] / b, s[3] / b}));
}

inline void triangle(operation& n) {
  const tensor x = in_graph(n.out, n.operand(0));
  require<data_error>(x.rank() >= 2, "expected matrices, got ", words(x.extents));
  const bool upper = n.integer("upper", 1) != 0;
  const auto k = n.known_integer(1, 0);
  const std::size_t rows = x.extents[x.rank() - 2];
  const std::size_t columns = x.extents.back();
  require_few({rows, columns});
  std::vector<std::int64_t> mask;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const std::int64_t diagonal = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
      mask.push_back((upper ? diagonal >= k : diagonal <= k) ? 1 : 0);
    }
  }
  n.x = {known_tensor(integer_numbers(std::move(mask), {rows, columns})), x,
         known_tensor(real_numbers({0}, {}))};
  elementwise(
      n, 3,
      [&](const auto& values) {
        return n.out.call(kernels::select{}, {values[0], values[1], values[2]});
      },
      x.type);
}

inline void reverse_sequence(operation& n) {
  const tensor& x = n.operand(0);
  const auto lengths = n.known_integers(1);
  const std::size_t batch = axis_in(n.integer("batch_axis", 1), x.rank());
  const std::size_t time = axis_in(n.integer("time_axis", 0), x.rank());
  require<data_error>(batch != time && lengths.size() == x.extents[batch], "has ", lengths.size(),
                      " lengths for a tensor of shape ", words(x.extents));
  std::vector<tensor> sequences;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::size_t extent = x.extents[time];
    require<data_error>(lengths[i] >= 0 && static_cast<std::size_t>(lengths[i]) <= extent,
                        "reverses ", lengths[i], " steps, but has only ", extent);
    const auto length = static_cast<std::size_t>(lengths[i]);
    std::vector<std::size_t> rows = plain_order(extent);
    std::reverse(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(length));
    sequences.push_back(picked(n.out, part(n.out, x, batch, i, 1), time, rows));
  }
  n.give(sequences.empty() ? x : joined(n.out, sequences, batch));
}

inline void eye_like(operation& n) {
  const tensor& x = n.operand(0);
  require<data_error>(x.rank() == 2, "expected a matrix, got ", words(x.extents));
  require_few(x.extents);
  const std::int64_t k = n.integer("k", 0);
  const auto type = static_cast<element_type>(n.integer("dtype", x.type));
  std::vector<double> elements(x.size(), 0);
  for (std::size_t i = 0; i < x.extents[0]; ++i) {
    for (std::size_t j = 0; j < x.extents[1]; ++j) {
      const std::int64_t diagonal = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
      elements[i * x.extents[1] + j] = diagonal == k ? 1 : 0;
    }
  }
  if (is_real(type)) {
    return n.give(known_tensor(real_numbers(std::move(elements), x.extents, type)));
  }
  n.give(known_tensor(integer_numbers({elements.begin(), elements.end()}, x.extents, type)));
}

}  // namespace glia::onnx::reading
