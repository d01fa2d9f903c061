#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "glia/layers/initializer.hpp"
#include "glia/layers/scope.hpp"
#include "glia/ops/indexing.hpp"

namespace glia {

/// For each integer, such as the number of a word, a row of a table that is trained: x (N, ...),
/// whole numbers from 0 to input_dim - 1, to (N, ..., output_dim). The table is `embeddings`
/// (input_dim, output_dim). Samples are floats, which tell integers up to 2^24 apart.
///
/// With `mask_zero` 0 is no word but fills sequences (N, T) up to the length of others; layers
/// after it pass over such steps, see `masking`.
///
/// Throws `value_error` for sizes of 0 and more integers than floats tell apart. Where the model's
/// samples come to it as they are, one that holds another number throws `data_error`; elsewhere
/// such a number gets a row of zeros.
struct embedding {
  std::size_t input_dim = 0;   ///< how many integers there are, 1 to 2^24
  std::size_t output_dim = 0;  ///< at least 1
  bool mask_zero = false;
  initializer embeddings_initializer = uniform(0.05);

  static constexpr std::string_view type_name = "embedding";

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    constexpr std::size_t most = std::size_t{1} << 24;
    s.expect_value(input_dim > 0 && input_dim <= most && output_dim > 0,
                   "expected an input_dim of 1 to 2^24 and an output_dim of at least 1");
    s.expect(!mask_zero || x.shape().rank() == 2, "mask_zero is for sequences of integers (N, T), ",
             "got ", batch_text(x.shape()));
    s.expect_integers(x.shape(), input_dim);
    const variable<B> table =
        s.parameter("embeddings", {input_dim, output_dim}, embeddings_initializer);
    if (mask_zero) {
      s.set_step_mask(s.device().run(kernels::binary{binary_function::greater}, x.value(),
                                     s.device().run(kernels::full{{}, 0})));
    }
    return ops::gather(table, s.device().run(kernels::to_index{}, x.value()));
  }

  [[nodiscard]] std::string description() const {
    return text("embedding(", input_dim, ", ", output_dim, mask_zero ? ", mask zero" : "", ')');
  }
  friend bool operator==(const embedding&, const embedding&) = default;
};

}  // namespace glia
