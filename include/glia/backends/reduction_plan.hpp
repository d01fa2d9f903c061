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
    for (std::size_t back = 1; back <= terms.rank(); ++back) {
      const std::size_t extent = terms[terms.rank() - back];
      const std::size_t kept = back <= sums.rank() ? sums[sums.rank() - back] : 1;
      if (kept == 1) {
        summed_.enclose(extent, {term_step, 0});
      } else {
        kept_.enclose(extent, {term_step, result_step});
      }
      term_step *= extent;
      result_step *= kept;
    }
    terms_ = results_ == 0 ? 0 : terms.size() / results_;
  }

  /// Returns whether neighboring results have neighboring terms.
  [[nodiscard]] bool by_columns() const noexcept { return kept_.inner().step[0] == 1; }

  /// Return the length of the innermost loop over a result's terms, the step in it, and whether
  /// this loop covers all terms.
  [[nodiscard]] std::size_t run_length() const noexcept { return summed_.inner().extent; }
  [[nodiscard]] std::size_t run_step() const noexcept { return summed_.inner().step[0]; }
  [[nodiscard]] bool one_run() const noexcept { return run_length() == terms_; }

  /// Calls visit(first term, terms' step, first result, count) for groups of neighboring results.
  template <class Visit>
  void for_results(const Visit& visit) const {
    const auto& inner = kept_.inner();
    for (std::size_t run = 0; run * inner.extent < results_; ++run) {
      const auto at = kept_.offsets(run);
      visit(at[0], inner.step[0], at[1], inner.extent);
    }
  }
  /// Calls visit(first term, step, count) for the terms of a result, counted from its first term.
  template <class Visit>
  void for_terms(const Visit& visit) const {
    const auto& inner = summed_.inner();
    for (std::size_t run = 0; run * inner.extent < terms_; ++run) {
      visit(summed_.offsets(run)[0], inner.step[0], inner.extent);
    }
  }

 private:
  merged_loops<2> kept_;    // steps of terms and results
  merged_loops<2> summed_;  // steps of terms
  std::size_t results_;
  std::size_t terms_;  // number of terms of each result
};

}  // namespace glia::detail
