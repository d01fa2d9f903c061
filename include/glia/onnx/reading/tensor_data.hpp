#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/half.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/mapped_file.hpp"
#include "glia/onnx/proto.hpp"
#include "glia/onnx/reading/numbers.hpp"

namespace glia::onnx {

/// A reference to the elements of a tensor: in the message, which has two formats for elements, or
/// in another file.
struct tensor_data {
  const ::onnx::TensorProto* message = nullptr;
  /// Bytes of the tensor, if they are in another file.
  std::span<const std::byte> external_bytes{};
};

[[nodiscard]] inline dims extents_of(const ::onnx::TensorProto& message) {
  dims extents;
  for (const std::int64_t extent : message.dims()) {
    require<data_error>(extent >= 0, "the tensor '", message.name(), "' has the negative extent ",
                        extent);
    extents.push_back(static_cast<std::size_t>(extent));
  }
  static_cast<void>(count_of(extents));
  return extents;
}

namespace detail {

using glia::detail::load_little_endian;

/// Returns the size of an element in raw data, or 0 for unsupported types.
[[nodiscard]] inline std::size_t raw_size(element_type type) {
  using P = ::onnx::TensorProto;
  switch (type) {
    case P::FLOAT:
    case P::INT32:
    case P::UINT32:
      return 4;
    case P::DOUBLE:
    case P::INT64:
    case P::UINT64:
      return 8;
    case P::FLOAT16:
    case P::BFLOAT16:
    case P::INT16:
    case P::UINT16:
      return 2;
    case P::INT8:
    case P::UINT8:
    case P::BOOL:
      return 1;
    default:
      return 0;
  }
}

[[nodiscard]] inline float from_bfloat16(std::uint16_t bits) {
  return glia::detail::bit_cast<float>(std::uint32_t{bits} << 16U);
}

/// Calls put(number) with the element at `address`.
template <class Put>
void read_raw(element_type type, const std::byte* address, const Put& put) {
  using P = ::onnx::TensorProto;
  switch (type) {
    case P::FLOAT:
      return put(load_little_endian<float>(address));
    case P::DOUBLE:
      return put(load_little_endian<double>(address));
    case P::FLOAT16:
      return put(half{load_little_endian<std::uint16_t>(address)}.value());
    case P::BFLOAT16:
      return put(from_bfloat16(load_little_endian<std::uint16_t>(address)));
    case P::INT32:
      return put(std::int64_t{load_little_endian<std::int32_t>(address)});
    case P::UINT32:
      return put(std::int64_t{load_little_endian<std::uint32_t>(address)});
    case P::INT64:
      return put(load_little_endian<std::int64_t>(address));
    case P::UINT64:
      return put(static_cast<std::int64_t>(load_little_endian<std::uint64_t>(address)));
    case P::INT16:
      return put(std::int64_t{load_little_endian<std::int16_t>(address)});
    case P::UINT16:
      return put(std::int64_t{load_little_endian<std::uint16_t>(address)});
    case P::INT8:
      return put(std::int64_t{load_little_endian<std::int8_t>(address)});
    case P::UINT8:
      return put(std::int64_t{load_little_endian<std::uint8_t>(address)});
    default:  // BOOL
      return put(std::int64_t{load_little_endian<std::uint8_t>(address) != 0 ? 1 : 0});
  }
}

/// Throws `data_error` if a tensor has an unsupported type, or if the number of its elements does
/// not fit its shape.
inline void require_whole(const tensor_data& data) {
  const ::onnx::TensorProto& m = *data.message;
  using P = ::onnx::TensorProto;
  const std::size_t count = count_of(extents_of(m));
  const std::size_t size = raw_size(m.data_type());
  require<data_error>(size > 0, "the tensor '", m.name(), "' has elements of type ",
                      name_of_type(m.data_type()), ", which glia does not support");
  const bool is_external = m.data_location() == P::EXTERNAL;
  if (is_external || m.has_raw_data()) {
    const std::size_t bytes = is_external ? data.external_bytes.size() : m.raw_data().size();
    require<data_error>(bytes == count * size, "the tensor '", m.name(), "' of shape ",
                        words(extents_of(m)), " has ", bytes, " bytes; expected ", count * size);
    return;
  }
  const int stored = m.data_type() == P::FLOAT    ? m.float_data_size()
                     : m.data_type() == P::DOUBLE ? m.double_data_size()
                     : m.data_type() == P::INT64  ? m.int64_data_size()
                     : m.data_type() == P::UINT32 || m.data_type() == P::UINT64
                         ? m.uint64_data_size()
                         : m.int32_data_size();
  require<data_error>(static_cast<std::size_t>(stored) == count, "the tensor '", m.name(),
                      "' of shape ", words(extents_of(m)), " has ", stored, " numbers; expected ",
                      count);
}

/// Calls put(number) for all elements in order.
template <class Put>
void read_elements(const tensor_data& data, const Put& put) {
  using P = ::onnx::TensorProto;
  const P& m = *data.message;
  require_whole(data);
  const bool is_external = m.data_location() == P::EXTERNAL;
  if (is_external || m.has_raw_data()) {
    const std::span<const std::byte> bytes =
        is_external ? data.external_bytes : std::as_bytes(std::span(m.raw_data()));
    const std::size_t size = raw_size(m.data_type());
    for (std::size_t offset = 0; offset < bytes.size(); offset += size) {
      read_raw(m.data_type(), bytes.data() + offset, put);
    }
    return;
  }
  switch (m.data_type()) {
    case P::FLOAT:
      for (const float number : m.float_data()) {
        put(number);
      }
      return;
    case P::DOUBLE:
      for (const double number : m.double_data()) {
        put(number);
      }
      return;
    case P::INT64:
      for (const std::int64_t number : m.int64_data()) {
        put(number);
      }
      return;
    case P::UINT32:
    case P::UINT64:
      for (const std::uint64_t number : m.uint64_data()) {
        put(static_cast<std::int64_t>(number));
      }
      return;
    default:
      for (const std::int32_t number : m.int32_data()) {
        if (m.data_type() == P::FLOAT16) {
          put(half{static_cast<std::uint16_t>(number)}.value());
        } else if (m.data_type() == P::BFLOAT16) {
          put(from_bfloat16(static_cast<std::uint16_t>(number)));
        } else {
          put(std::int64_t{number});
        }
      }
  }
}

}  // namespace detail

/// Returns all elements as numbers. Throws `data_error` if their number does not match the shape,
/// their type is unsupported, or they exceed the limit.
[[nodiscard]] inline numbers numbers_of(const tensor_data& data) {
  numbers result{data.message->data_type(), extents_of(*data.message), {}};
  require_few(result.extents);
  if (is_real(result.type)) {
    std::vector<double> elements;
    detail::read_elements(data,
                          [&](auto number) { elements.push_back(static_cast<double>(number)); });
    result.elements = std::move(elements);
  } else {
    std::vector<std::int64_t> elements;
    detail::read_elements(
        data, [&](auto number) { elements.push_back(static_cast<std::int64_t>(number)); });
    result.elements = std::move(elements);
  }
  return result;
}

/// Returns the elements as floats, in the file's order. Throws like `numbers_of`.
[[nodiscard]] inline std::vector<float> floats_of(const tensor_data& data) {
  const ::onnx::TensorProto& m = *data.message;
  std::vector<float> elements;
  elements.reserve(count_of(extents_of(m)));
  detail::read_elements(data, [&](auto number) { elements.push_back(static_cast<float>(number)); });
  return elements;
}

}  // namespace glia::onnx
