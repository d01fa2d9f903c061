#pragma once

#include <cstddef>

#include "glia/backends/merged_loops.hpp"
#include "glia/core/shape.hpp"

namespace glia::detail {

/// The loops of a sum over axes. The outer loops visit the results, and the inner loops visit the
/// terms of one result. Each result is thus complete before the next one begins.
class reduction_plan {
 public:
  /// `terms` is the shape of the operand, and `sums` the shape of the results, aligned with `terms`
  /// at the last axis.
  reduction_plan(const shape& terms, const shape& sums) : results_(sums.size()) {
    std::size_t term_step = 1;
    std::size_t result_step = 1;
    for (std::size_t axis_from_end = 1; axis_from_end <= terms.rank(); ++axis_from_end) {
      const std::size_t extent = terms[terms.rank() - axis_from_end];
      const std::size_t result_extent =
          axis_from_end <= sums.rank() ? sums[sums.rank() - axis_from_end] : 1;
      if (result_extent == 1) {
        term_loops_.enclose(extent, {term_step, 0});
      } else {
        result_loops_.enclose(extent, {term_step, result_step});
      }
      term_step *= extent;
      result_step *= result_extent;
    }
    terms_ = results_ == 0 ? 0 : terms.size() / results_;
  }

  /// Returns whether neighboring results have neighboring terms.
  [[nodiscard]] bool by_columns() const noexcept { return result_loops_.inner().step[0] == 1; }

  /// Return the length of the innermost loop over a result's terms, the step in it, and whether
  /// this loop covers all terms.
  [[nodiscard]] std::size_t run_length() const noexcept { return term_loops_.inner().extent; }
  [[nodiscard]] std::size_t run_step() const noexcept { return term_loops_.inner().step[0]; }
  [[nodiscard]] bool one_run() const noexcept { return run_length() == terms_; }

  /// Calls visit(first term, terms' step, first result, count) for groups of neighboring results.
  template <class Visit>
  void for_results(const Visit& visit) const {
    const auto& inner = result_loops_.inner();
    for (std::size_t run = 0; run * inner.extent < results_; ++run) {
      const auto offsets = result_loops_.offsets(run);
      visit(offsets[0], inner.step[0], offsets[1], inner.extent);
    }
  }
  /// Calls visit(first term, step, count) for the terms of a result, counted from its first term.
  template <class Visit>
  void for_terms(const Visit& visit) const {
    const auto& inner = term_loops_.inner();
    for (std::size_t run = 0; run * inner.extent < terms_; ++run) {
      visit(term_loops_.offsets(run)[0], inner.step[0], inner.extent);
    }
  }

 private:
  merged_loops<2> result_loops_;  // steps of terms and results
  merged_loops<2> term_loops_;    // steps of terms
  std::size_t results_;
  std::size_t terms_;  // number of terms of each result
};

}  // namespace glia::detail
