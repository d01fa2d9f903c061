#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "glia/kernels/classification.hpp"
#include "glia/kernels/normalization.hpp"
#include "glia/stablehlo/elementwise.hpp"

namespace glia::stablehlo {

namespace detail {

/// Returns a tensor (..., K) with the shape (N, K): one row for each index of the other axes.
[[nodiscard]] inline value as_rows(writer& w, const value& x) {
  return w.reshape(x, {row_count(x.shape), x.shape.back()});
}
/// Repeats `row_values`, which has one number for each row, along the rows.
[[nodiscard]] inline value along_rows(writer& w, const value& row_values, const shape& rows) {
  return w.broadcast(row_values, rows, {0});
}

constexpr double lowest = -std::numeric_limits<double>::infinity();

/// The differences of x and the largest element of its row, their exponentials, and the sums of
/// these.
struct shifted_rows {
  shifted_rows(writer& w, const value& x)
      : shifted(w.subtract(x, along_rows(w, w.reduce("maximum", x, lowest, {1}), x.shape))),
        exponentials(w.unary("exponential", shifted)),
        sums(w.sum(exponentials, {1})) {}

  [[nodiscard]] value softmax(writer& w) const {
    return w.divide(exponentials, along_rows(w, sums, shifted.shape));
  }

  value shifted;
  value exponentials;
  value sums;
};

/// Like shifted_rows, but if one logit of a row is infinite, its class has the probability 1.
/// `other_sums` are the sums without the largest element.
struct certain_rows {
  certain_rows(writer& w, const value& x) {
    const value highest = w.reduce("maximum", x, lowest, {1});
    const value is_highest = w.compare("EQ", x, along_rows(w, highest, x.shape));
    const value count = w.sum(w.convert(is_highest, x.type), {1});
    // The result is NaN if several logits are infinite, or if all are NaN.
    const value at_highest =
        w.select(w.compare("EQ", count, 1), w.constant(0, highest), w.subtract(highest, highest));
    shifted = w.select(is_highest, along_rows(w, at_highest, x.shape),
                       w.subtract(x, along_rows(w, highest, x.shape)));
    exponentials = w.unary("exponential", shifted);
    other_sums = w.add(w.sum(w.select(is_highest, w.constant(0, x), exponentials), {1}),
                       w.add(w.multiply(count, w.unary("exponential", at_highest)), -1));
  }

  [[nodiscard]] value softmax(writer& w) const {
    return w.divide(exponentials, along_rows(w, w.add(other_sums, 1), shifted.shape));
  }

  value shifted;
  value exponentials;
  value other_sums;
};

/// Returns whether each row has a target that is not 0.
[[nodiscard]] inline value has_targets(writer& w, const value& targets) {
  const value counts = w.convert(w.compare("NE", targets, 0), targets.type);
  return w.compare("GT", w.sum(counts, {1}), 0);
}

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::softmax&, operand_list x) {
  if (x[0].shape.size() == 0) {
    return {x[0]};
  }
  const value rows = detail::as_rows(l.out, x[0]);
  return {l.out.reshape(detail::shifted_rows(l.out, rows).softmax(l.out), x[0].shape)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::softmax_gradient&,
                                  operand_list x) {
  writer& w = l.out;
  if (x[0].shape.size() == 0) {
    return {x[0]};
  }
  const value dy = detail::as_rows(w, x[0]);
  const value y = detail::as_rows(w, x[1]);
  const value dot = w.sum(w.multiply(dy, y), {1});
  const value dx = w.multiply(y, w.subtract(dy, detail::along_rows(w, dot, y.shape)));
  return {w.reshape(dx, x[0].shape)};
}

/// A class with a target of 0 is ignored, even if its logit is -infinity.
[[nodiscard]] inline values lower(const lowering& l, const kernels::softmax_cross_entropy&,
                                  operand_list x) {
  writer& w = l.out;
  const value targets = detail::as_rows(w, x[1]);
  const detail::certain_rows rows(w, detail::as_rows(w, x[0]));
  const value counts = w.compare("NE", targets, 0);
  const value dot = w.sum(w.select(counts, w.multiply(targets, rows.shifted), 0), {1});
  const value loss =
      w.subtract(w.multiply(w.sum(targets, {1}), w.unary("log_plus_one", rows.other_sums)), dot);
  const value of_rows = w.select(detail::has_targets(w, targets), loss, w.constant(0, loss));
  return {w.reshape(of_rows, without_last_axis(x[0].shape)),
          w.reshape(rows.softmax(w), x[0].shape)};
}

/// For probabilities above 1/2, 1 minus the probability is computed as the sum of the other
/// probabilities.
[[nodiscard]] inline values lower(const lowering& l, const kernels::softmax_cross_entropy_gradient&,
                                  operand_list x) {
  writer& w = l.out;
  const value probabilities = detail::as_rows(w, x[1]);
  const value targets = detail::as_rows(w, x[2]);
  const shape& s = targets.shape;
  const value likely = w.compare("GT", probabilities, 0.5);
  const value weight = w.sum(targets, {1});
  const value unlikely_targets = w.sum(w.select(likely, w.constant(0, targets), targets), {1});
  const value unlikely_probabilities =
      w.sum(w.select(likely, w.constant(0, targets), probabilities), {1});
  const value likely_slope =
      w.subtract(unlikely_targets, w.multiply(weight, unlikely_probabilities));
  const value slope =
      w.select(likely, detail::along_rows(w, likely_slope, s),
               w.subtract(w.multiply(probabilities, detail::along_rows(w, weight, s)), targets));
  const value dloss = detail::along_rows(w, w.reshape(x[0], {s[0]}), s);
  const value dlogits = w.select(detail::along_rows(w, detail::has_targets(w, targets), s),
                                 w.multiply(dloss, slope), w.constant(0, slope));
  return {w.reshape(dlogits, x[1].shape)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::one_hot& k, operand_list x) {
  writer& w = l.out;
  const shape s{x[0].shape.size(), k.count};
  const value classes = detail::along_rows(w, w.reshape(x[0], {s[0]}), s);
  const value is_class = w.compare("EQ", classes, w.iota(s, 1, scalar::i32));
  const value rows =
      w.select(is_class, w.constant(k.on_value, s, l.real), w.constant(k.off_value, s, l.real));
  return {w.reshape(rows, k.result({x[0].shape, element::index}).shape)};
}

/// Like std::max_element: a NaN is skipped, unless it comes first.
[[nodiscard]] inline values lower(const lowering& l, const kernels::argmax&, operand_list x) {
  writer& w = l.out;
  const value rows = detail::as_rows(w, x[0]);
  const shape& s = rows.shape;
  const value number = w.compare("EQ", rows, rows);
  const value highest =
      w.reduce("maximum", w.select(number, rows, detail::lowest), detail::lowest, {1});
  const value wins = w.compare("EQ", rows, detail::along_rows(w, highest, s));
  const value columns = w.iota(s, 1, scalar::i32);
  const auto last = static_cast<double>(s[1]);
  const value first = w.reduce("minimum", w.select(wins, columns, last), last, {1});
  const value begins =
      w.reshape(w.slice(number, {0, 0}, {static_cast<std::int64_t>(s[0]), 1}, {1, 1}), {s[0]});
  return {w.select(begins, first, 0)};
}

[[nodiscard]] inline values lower(const lowering& l, const kernels::in_top_k& k, operand_list x) {
  writer& w = l.out;
  const value rows = detail::as_rows(w, x[0]);
  const shape& s = rows.shape;
  const value truth = detail::along_rows(w, x[1], s);
  const value columns = w.iota(s, 1, scalar::i32);
  const value is_truth = w.compare("EQ", columns, truth);
  const value score = w.sum(w.select(is_truth, rows, 0), {1});
  const value truths = detail::along_rows(w, score, s);
  const value ahead =
      w.binary("and", w.compare("EQ", rows, truths), w.compare("LT", columns, truth));
  const value higher = w.binary("or", w.compare("GT", rows, truths), ahead);
  const auto count = [&](const value& holds) { return w.sum(w.convert(holds, scalar::i32), {1}); };
  const value among = w.compare("LT", count(higher), static_cast<double>(k.k));
  const value has_truth = w.compare("EQ", count(is_truth), 1);
  const value numbers_only = w.compare("EQ", count(w.compare("NE", rows, rows)), 0);
  const value hit = w.binary("and", among, w.binary("and", has_truth, numbers_only));
  return {w.convert(hit, l.real)};
}

namespace detail {

/// The elements to normalize, in the shape (A, positions, G, features). Elements with the same
/// indices in A and G share their statistics. As on other devices, distances from the mean are
/// corrected by their own mean. Unlike on other devices, the squares of numbers above 1e19 or below
/// 1e-19 leave the range of the type.
struct normalized_sets {
  normalized_sets(writer& out, const value& x, normalization kind, std::size_t groups)
      : w(out), by_rows(kernels::is_by_rows(kind)), centered(kind != normalization::rms) {
    const std::size_t rows = row_count(x.shape);
    const std::size_t columns = x.shape.back();
    const std::size_t features = kind == normalization::group ? columns / groups : 1;
    extents = by_rows ? shape{rows, 1, 1, columns}
              : kind == normalization::group
                  ? shape{x.shape[0], rows / x.shape[0], groups, features}
                  : shape{1, rows, columns, 1};
    length = static_cast<double>(extents[1] * extents[3]);
    elements = apart(x);
  }

  [[nodiscard]] value apart(const value& x) const { return w.reshape(x, extents); }
  /// Returns the mean of the elements that share their statistics.
  [[nodiscard]] value mean(const value& x) const {
    const value sums = w.sum(x, {1, 3});
    return w.divide(sums, w.constant(length, sums));
  }
  /// Repeats statistics for the elements that share them.
  [[nodiscard]] value spread(const value& statistics) const {
    return w.broadcast(w.reshape(statistics, {extents[0], extents[2]}), extents, {0, 2});
  }
  /// Repeats gamma or beta for all elements.
  [[nodiscard]] value each_column(const value& x) const {
    return w.broadcast(w.reshape(x, {extents[2], extents[3]}), extents, {2, 3});
  }
  [[nodiscard]] value sum_of_columns(const value& x) const {
    return w.reshape(w.sum(x, {0, 1}), {extents[2] * extents[3]});
  }

  writer& w;
  bool by_rows;
  bool centered;
  shape extents;
  double length = 1;
  value elements;
};

}  // namespace detail

[[nodiscard]] inline values lower(const lowering& l, const kernels::normalize& k, operand_list x) {
  writer& w = l.out;
  const detail::normalized_sets sets(w, x[0], k.kind, k.groups);
  value mean = sets.mean(sets.elements);
  value centered = sets.elements;
  if (sets.centered) {
    centered = w.subtract(sets.elements, sets.spread(mean));
    const value rest = sets.mean(centered);
    centered = w.subtract(centered, sets.spread(rest));
    mean = w.add(mean, rest);
  } else {
    mean = w.constant(0, mean);
  }
  const value variance = sets.mean(w.multiply(centered, centered));
  const value scale = sets.spread(w.reciprocal_sqrt(w.add(variance, k.epsilon)));
  const value y = w.add(w.multiply(w.multiply(sets.each_column(x[1]), centered), scale),
                        sets.each_column(x[2]));
  const shape statistics = kernels::statistics_shape(x[0].shape, k.kind, k.groups);
  return {w.reshape(y, x[0].shape), w.reshape(mean, statistics), w.reshape(variance, statistics)};
}

/// Computes dx = (q - mean(q) - h mean(q h)) / sqrt(variance + epsilon), with h = (x - mean) /
/// sqrt(variance + epsilon) and q = gamma dy. For rms, there is no mean(q).
[[nodiscard]] inline values lower(const lowering& l, const kernels::normalize_gradient& k,
                                  operand_list x) {
  writer& w = l.out;
  const detail::normalized_sets sets(w, x[1], k.kind, k.groups);
  const value dy = sets.apart(x[0]);
  const value scale = sets.spread(w.reciprocal_sqrt(w.add(x[4], k.epsilon)));
  value centered = sets.elements;
  if (sets.centered) {
    const value mean = sets.spread(x[3]);
    centered = w.subtract(sets.elements, mean);
    // Corrects the rounding error of the mean. A larger difference is no rounding error, but comes
    // from a mean over several ranks.
    const double epsilon = mean.type == scalar::f64 ? 0x1p-52 : 0x1p-23;
    const value rest = sets.spread(sets.mean(centered));
    const value limit = w.multiply(w.unary("abs", mean), w.constant(epsilon, mean));
    const value rounded = w.compare("LE", w.unary("abs", rest), limit);
    centered = w.subtract(centered, w.select(rounded, rest, 0));
  }
  const value h = w.multiply(centered, scale);
  const value q = w.multiply(sets.each_column(x[2]), dy);
  value rest = w.multiply(h, sets.spread(sets.mean(w.multiply(q, h))));
  if (sets.centered) {
    rest = w.add(rest, sets.spread(sets.mean(q)));
  }
  return {w.reshape(w.multiply(scale, w.subtract(q, rest)), x[1].shape),
          sets.sum_of_columns(w.multiply(dy, h)), sets.sum_of_columns(dy)};
}

}  // namespace glia::stablehlo
