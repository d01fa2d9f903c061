#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/memory_limit.hpp"
#include "glia/core/shape.hpp"
#include "glia/onnx/axes.hpp"
#include "glia/onnx/proto.hpp"

namespace glia::onnx {

/// The extents of a tensor of a file, outermost first, with any rank.
using dims = std::vector<std::size_t>;

/// Extents as text for messages: "(2, 3)". The text is made only if it is printed.
class words {
 public:
  explicit words(const dims& extents) : extents_(extents) {}

  friend std::ostream& operator<<(std::ostream& out, const words& w) {
    out << '(';
    for (std::size_t i = 0; i < w.extents_.size(); ++i) {
      out << (i == 0 ? "" : ", ") << w.extents_[i];
    }
    return out << ')';
  }

 private:
  const dims& extents_;
};

/// Returns the number of elements. Throws `data_error` if no machine has enough memory for them.
[[nodiscard]] inline std::size_t count_of(const dims& extents) {
  constexpr std::size_t limit = std::size_t{1} << (glia::detail::max_memory_bits - 3);
  std::size_t count = 1;
  bool empty = false;
  for (const std::size_t extent : extents) {
    empty = empty || extent == 0;
    require<data_error>(extent <= limit / count, "a tensor of shape ", words(extents),
                        " is larger than any machine's memory");
    count *= extent == 0 ? 1 : extent;
  }
  return empty ? 0 : count;
}

/// Converts extents to a shape.
[[nodiscard]] inline shape shape_of(const dims& extents) {
  require<data_error>(extents.size() <= shape::max_rank, "got a tensor with ", extents.size(),
                      " axes; glia supports at most ", shape::max_rank);
  static_cast<void>(count_of(extents));
  return {extents.begin(), extents.end()};
}
[[nodiscard]] inline dims dims_of(const shape& s) { return {s.begin(), s.end()}; }

/// Returns the index of an axis. A negative `axis` counts from the end. Throws `data_error` if
/// there is no such axis.
[[nodiscard]] inline std::size_t axis_in(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  require<data_error>(axis >= -count && axis < count, "got axis ", axis, " for a tensor with ",
                      rank, " axes");
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

using element_type = std::int32_t;  // a value of ::onnx::TensorProto::DataType

[[nodiscard]] inline bool is_real(element_type type) {
  using P = ::onnx::TensorProto;
  return type == P::FLOAT || type == P::DOUBLE || type == P::FLOAT16 || type == P::BFLOAT16;
}
[[nodiscard]] inline std::string name_of_type(element_type type) {
  return ::onnx::TensorProto::DataType_IsValid(type)
             ? ::onnx::TensorProto::DataType_Name(static_cast<::onnx::TensorProto::DataType>(type))
             : text("type ", type);
}

/// Numbers of a file that do not depend on samples: shapes, axes, factors. Boolean values are the
/// integers 0 and 1.
struct numbers {
  /// The largest number of elements. Without a limit, a file could request all memory.
  static constexpr std::size_t max_size = std::size_t{1} << 21;

  element_type type = ::onnx::TensorProto::INT64;
  dims extents;
  std::variant<std::vector<std::int64_t>, std::vector<double>> elements;

  [[nodiscard]] bool real() const noexcept { return elements.index() == 1; }
  [[nodiscard]] std::size_t size() const { return count_of(extents); }
  [[nodiscard]] const std::vector<std::int64_t>& integers() const {
    require<data_error>(!real(), "expected integers, got numbers of type ", name_of_type(type));
    return std::get<0>(elements);
  }
  [[nodiscard]] const std::vector<double>& reals() const { return std::get<1>(elements); }
  [[nodiscard]] double at(std::size_t i) const {
    return real() ? reals()[i] : static_cast<double>(std::get<0>(elements)[i]);
  }
};

[[nodiscard]] inline numbers integer_numbers(std::vector<std::int64_t> elements, dims extents,
                                             element_type type = ::onnx::TensorProto::INT64) {
  return {type, std::move(extents), std::move(elements)};
}
[[nodiscard]] inline numbers real_numbers(std::vector<double> elements, dims extents,
                                          element_type type = ::onnx::TensorProto::FLOAT) {
  return {type, std::move(extents), std::move(elements)};
}

/// Returns the elements as real numbers.
[[nodiscard]] inline std::vector<double> reals_of(const numbers& x) {
  if (x.real()) {
    return x.reals();
  }
  return {x.integers().begin(), x.integers().end()};
}

/// Throws `data_error` if there are more elements than the limit.
inline void require_few(const dims& extents) {
  require<data_error>(count_of(extents) <= numbers::max_size, "a tensor of shape ", words(extents),
                      ", which does not depend on the samples, has more than ", numbers::max_size,
                      " elements");
}

/// Selects elements of `x`. The result has the given extents. `index_of` maps a position in the
/// result to a row-major index in `x`.
template <class Index>
[[nodiscard]] numbers selected(const numbers& x, dims extents, const Index& index_of) {
  require_few(extents);
  numbers result{x.type, std::move(extents), {}};
  const std::size_t count = result.size();
  std::visit(
      [&](const auto& source) {
        std::remove_cvref_t<decltype(source)> elements;
        elements.reserve(count);
        dims position(result.extents.size(), 0);
        for (std::size_t n = 0; n < count; ++n) {
          elements.push_back(source[index_of(position)]);
          advance(position, result.extents);
        }
        result.elements = std::move(elements);
      },
      x.elements);
  return result;
}

/// Returns the numbers with permuted axes: axis i of the result is axis order[i] of x.
[[nodiscard]] inline numbers permuted(const numbers& x, const std::vector<std::size_t>& order) {
  require_few(x.extents);
  numbers result{x.type, {}, {}};
  for (const std::size_t axis : order) {
    result.extents.push_back(x.extents[axis]);
  }
  std::visit([&](const auto& elements) { result.elements = in_order(elements, x.extents, order); },
             x.elements);
  return result;
}

/// Returns the extents to which both operands can be broadcast. Throws `data_error` if they do not
/// match.
[[nodiscard]] inline dims broadcast(const dims& a, const dims& b) {
  dims result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::size_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    require<data_error>(of_a == of_b || of_a == 1 || of_b == 1, "the shapes ", words(a), " and ",
                        words(b), " cannot be broadcast");
    result[result.size() - 1 - i] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

/// Broadcasts numbers to the given extents.
[[nodiscard]] inline numbers broadcast_to(const numbers& x, const dims& extents) {
  require<data_error>(broadcast(x.extents, extents) == extents, "a tensor of shape ",
                      words(x.extents), " cannot be repeated to ", words(extents));
  if (x.extents == extents) {
    return x;
  }
  const dims steps = steps_of(x.extents);
  const std::size_t missing = extents.size() - x.extents.size();
  return selected(x, extents, [&](const dims& position) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < x.extents.size(); ++i) {
      index += (x.extents[i] == 1 ? 0 : position[i + missing]) * steps[i];
    }
    return index;
  });
}

}  // namespace glia::onnx
