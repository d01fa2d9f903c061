#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/data/arrow_structs.hpp"
#include "glia/data/arrow_types.hpp"

namespace glia::detail {

/// A range of the values of an Arrow array without children. It refers to the array's buffers.
///
/// Throws `data_error`, with the label of the column, if the array does not have the buffers of its
/// format, or fewer values than the range.
class arrow_values {
 public:
  /// The values from `first` on, counted from the array's own offset.
  arrow_values(std::string format, const ArrowArray& array, std::size_t first, std::size_t size,
               std::string label)
      : format_(std::move(format)), label_(std::move(label)), size_(size) {
    const std::int64_t buffers = type() == arrow_type::nothing ? 0
                                 : type() != arrow_type::text  ? 2
                                                               : 3;
    expect(format_ == "vu" ? array.n_buffers >= buffers : array.n_buffers == buffers, "expected ",
           buffers, " buffers for the format '", format_, "', got ", array.n_buffers);
    expect(array.offset >= 0, "expected an offset of 0 or more, got ", array.offset);
    expect(array.length >= 0 && static_cast<std::uint64_t>(array.length) >= first + size,
           "expected ", first + size, " values, got ", array.length);
    offset_ = static_cast<std::size_t>(array.offset) + first;
    if (buffers != 0) {
      expect(array.buffers != nullptr, "the buffers are missing");
      buffers_ = array.buffers;
      variadic_buffers_ = array.n_buffers - 3;
      has_nulls_ = array.null_count != 0 && buffers_[0] != nullptr;
      expect(buffers_[1] != nullptr || size == 0, "the buffer of the values is missing");
    }
  }

  [[nodiscard]] arrow_type type() const { return type_of_format(format_); }
  [[nodiscard]] const std::string& format() const { return format_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  [[nodiscard]] bool is_null(std::size_t i) const {
    return buffers_ == nullptr || (has_nulls_ && !bit(0, offset_ + i));
  }

  /// Returns a number of the type that the format has in C++; see `with_number_type`.
  template <class T>
  [[nodiscard]] T number(std::size_t i) const {
    if constexpr (std::same_as<T, bool>) {
      return bit(1, offset_ + i);
    } else {
      return element<T>(1, offset_ + i);
    }
  }

  /// Returns a text. The view is valid as long as the array.
  [[nodiscard]] std::string_view text(std::size_t i) const {
    if (format_ == "vu") {
      return text_of_view(offset_ + i);
    }
    return format_ == "u" ? text_between<std::int32_t>(offset_ + i)
                          : text_between<std::int64_t>(offset_ + i);
  }

  /// Returns a date as days since 1970-01-01, in UTC.
  [[nodiscard]] double days(std::size_t i) const {
    if (format_ == "tdD") {
      return element<std::int32_t>(1, offset_ + i);
    }
    const char unit = format_[2];
    const double seconds = unit == 's' ? 1 : unit == 'm' ? 1e3 : unit == 'u' ? 1e6 : 1e9;
    return static_cast<double>(element<std::int64_t>(1, offset_ + i)) / (86400 * seconds);
  }

 private:
  template <class... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require<data_error>(condition, label_, ": ", parts...);
  }

  /// Returns an element of a buffer, which need not be aligned.
  template <class T>
  [[nodiscard]] T element(std::size_t buffer, std::size_t i) const {
    T value{};
    std::memcpy(&value, static_cast<const char*>(buffers_[buffer]) + i * sizeof(T), sizeof(T));
    return value;
  }
  [[nodiscard]] bool bit(std::size_t buffer, std::size_t i) const {
    return ((element<std::uint8_t>(buffer, i / 8) >> (i % 8)) & 1U) != 0;
  }

  template <class Offset>
  [[nodiscard]] std::string_view text_between(std::size_t i) const {
    const auto begin = element<Offset>(1, i);
    const auto end = element<Offset>(1, i + 1);
    expect(begin >= 0 && end >= begin && (buffers_[2] != nullptr || end == begin),
           "the offsets of the texts are wrong");
    return end == begin ? std::string_view()
                        : std::string_view(static_cast<const char*>(buffers_[2]) + begin,
                                           static_cast<std::size_t>(end - begin));
  }

  /// A view has 16 bytes: the length, and up to 12 bytes of text, or the first four bytes of the
  /// text, the number of a buffer and a position in it. The last buffer has the buffers' sizes.
  [[nodiscard]] std::string_view text_of_view(std::size_t i) const {
    constexpr std::int32_t max_bytes = 12;
    const auto length = element<std::int32_t>(1, 4 * i);
    expect(length >= 0, "the length of a text is negative");
    if (length <= max_bytes) {
      return {static_cast<const char*>(buffers_[1]) + 16 * i + 4, static_cast<std::size_t>(length)};
    }
    const auto buffer = element<std::int32_t>(1, 4 * i + 2);
    const auto begin = element<std::int32_t>(1, 4 * i + 3);
    expect(buffer >= 0 && buffer < variadic_buffers_ && begin >= 0,
           "the position of a text is wrong");
    const auto position = static_cast<std::size_t>(buffer);
    expect(buffers_[2 + position] != nullptr && buffers_[variadic_buffers_ + 2] != nullptr,
           "a buffer of the texts is missing");
    expect(std::int64_t{begin} + length <=
               element<std::int64_t>(static_cast<std::size_t>(variadic_buffers_) + 2, position),
           "a text ends beyond its buffer");
    return {static_cast<const char*>(buffers_[2 + position]) + begin,
            static_cast<std::size_t>(length)};
  }

  std::string format_;
  std::string label_;
  std::size_t size_;
  std::size_t offset_ = 0;
  const void** buffers_ = nullptr;
  std::int64_t variadic_buffers_ = 0;
  bool has_nulls_ = false;
};

/// The rows of a column of an Arrow table, whose values may be in a dictionary.
class arrow_column {
 public:
  /// The rows from `first` on. `label` precedes error messages.
  arrow_column(const ArrowSchema& schema, const ArrowArray& array, std::size_t first,
               std::size_t size, const std::string& label)
      : label_(label), rows_(schema.format, array, first, size, label) {
    if (schema.dictionary == nullptr) {
      return;
    }
    require<data_error>(array.dictionary != nullptr && array.dictionary->length >= 0, label,
                        ": expected a dictionary, got none");
    require<data_error>(is_integer_format(rows_.format()), label,
                        ": expected integers as indices of the dictionary, got the format '",
                        rows_.format(), "'");
    dictionary_.emplace(schema.dictionary->format, *array.dictionary, 0,
                        static_cast<std::size_t>(array.dictionary->length), label);
  }

  /// The values to which the positions refer.
  [[nodiscard]] const arrow_values& values() const { return dictionary_ ? *dictionary_ : rows_; }

  /// Returns the position of a row's value, or nothing if it is null.
  [[nodiscard]] std::optional<std::size_t> position(std::size_t row) const {
    if (rows_.is_null(row)) {
      return {};
    }
    if (!dictionary_) {
      return row;
    }
    std::size_t index = 0;
    with_number_type(rows_.format()[0], [&](auto type) {
      using T = decltype(type);
      if constexpr (std::is_integral_v<T>) {
        // A negative index becomes one beyond the end. NOLINTNEXTLINE(bugprone-signed-char-misuse)
        index = static_cast<std::size_t>(rows_.number<T>(row));
      }
    });
    require<data_error>(index < dictionary_->size(), label_, ", row ", row + 1,
                        ": the index is outside of the dictionary");
    return dictionary_->is_null(index) ? std::nullopt : std::optional(index);
  }

 private:
  std::string label_;
  arrow_values rows_;
  std::optional<arrow_values> dictionary_;
};

}  // namespace glia::detail
