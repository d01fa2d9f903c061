#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <istream>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "glia/core/bit_cast.hpp"
#include "glia/core/error.hpp"
#include "glia/core/file_source.hpp"
#include "glia/core/half.hpp"
#include "glia/core/input_file.hpp"
#include "glia/core/little_endian.hpp"
#include "glia/core/named_tensor.hpp"
#include "glia/core/representable.hpp"
#include "glia/core/shape.hpp"
#include "glia/core/shared_floats.hpp"
#include "glia/io/tensor_map.hpp"

// The safetensors format: 8 bytes with the length of the header, little-endian; the header, a JSON
// object with dtype, shape and position of each tensor; the elements in row-major order. The code
// below checks the limits of the specification, github.com/huggingface/safetensors.

namespace glia::detail {

/// Parses a header. The result is a discarded value if the header is not valid JSON. If a name
/// occurs twice in one object, it is stored in `repeated`, because the parser keeps only the last
/// value.
[[nodiscard]] inline nlohmann::json parse_header(const std::string& text,
                                                 std::optional<std::string>& repeated) {
  // The names of the tensors are at depth 1, the properties of a tensor at depth 2.
  std::array<std::set<std::string>, 2> names;
  const auto note = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == nlohmann::json::parse_event_t::object_start && level < names.size()) {
      names[level].clear();
    } else if (event == nlohmann::json::parse_event_t::key && level <= names.size()) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!names[level - 1].insert(name).second) {
        repeated = name;
      }
    }
    return true;
  };
  return nlohmann::json::parse(text, note, false);
}

/// A dtype: the size of its elements in bytes, and a function that converts them to floats. The
/// size is 0 for an unsupported dtype.
struct element_kind {
  std::string dtype;
  std::size_t size = 0;
  void (*read)(const char* bytes, float* destination, std::size_t count,
               const std::string& location, const std::string& dtype) = nullptr;
};

/// Converts elements that are stored as T to floats; `number(stored)` returns the value of one
/// element.
template <class T, auto number>
void read_elements(const char* bytes, float* destination, std::size_t count,
                   const std::string& location, const std::string& dtype) {
  const auto number_at = [&](std::size_t i) {
    return number(load_little_endian<T>(bytes + i * sizeof(T)));
  };
  convert_numbers(count, number_at, destination, location, dtype,
                  "glia reads tensors as floats; leave the tensor out or convert it before saving");
}

template <class T>
T same_value(T stored) {
  return stored;
}
inline float half_value(std::uint16_t bits) { return half{bits}.value(); }
inline float bfloat16_value(std::uint16_t bits) {
  return detail::bit_cast<float>(std::uint32_t{bits} << 16U);
}
inline float truth_value(std::uint8_t bits) { return bits != 0 ? 1.0F : 0.0F; }
/// Returns the value of an 8-bit float E5M2, which is the upper byte of a half.
inline float e5m2_value(std::uint8_t bits) {
  return half{static_cast<std::uint16_t>(bits << 8U)}.value();
}
/// Returns the value of an 8-bit float E4M3: 1 sign bit, 4 exponent bits, 3 fraction bits, without
/// infinities (Micikevicius et al., "FP8 formats for deep learning", 2022).
inline float e4m3_value(std::uint8_t bits) {
  const int exponent = (bits >> 3) & 0xF;
  const int fraction = bits & 7;
  const float size = exponent == 15 && fraction == 7
                         ? std::numeric_limits<float>::quiet_NaN()
                         : std::ldexp(static_cast<float>(exponent == 0 ? fraction : 8 + fraction),
                                      std::max(exponent, 1) - 10);
  return (bits & 0x80U) != 0 ? -size : size;
}

[[nodiscard]] inline element_kind kind_of(const std::string& dtype) {
  static const auto known = std::to_array<element_kind>({
      {"F32", 4, &read_elements<float, same_value<float>>},
      {"F64", 8, &read_elements<double, same_value<double>>},
      {"F16", 2, &read_elements<std::uint16_t, half_value>},
      {"BF16", 2, &read_elements<std::uint16_t, bfloat16_value>},
      {"F8_E5M2", 1, &read_elements<std::uint8_t, e5m2_value>},
      {"F8_E4M3", 1, &read_elements<std::uint8_t, e4m3_value>},
      {"BOOL", 1, &read_elements<std::uint8_t, truth_value>},
      {"I8", 1, &read_elements<std::int8_t, same_value<std::int8_t>>},
      {"U8", 1, &read_elements<std::uint8_t, same_value<std::uint8_t>>},
      {"I16", 2, &read_elements<std::int16_t, same_value<std::int16_t>>},
      {"U16", 2, &read_elements<std::uint16_t, same_value<std::uint16_t>>},
      {"I32", 4, &read_elements<std::int32_t, same_value<std::int32_t>>},
      {"U32", 4, &read_elements<std::uint32_t, same_value<std::uint32_t>>},
      {"I64", 8, &read_elements<std::int64_t, same_value<std::int64_t>>},
      {"U64", 8, &read_elements<std::uint64_t, same_value<std::uint64_t>>},
  });
  const auto* found = std::find_if(known.begin(), known.end(),
                                   [&](const element_kind& kind) { return kind.dtype == dtype; });
  return found == known.end() ? element_kind{dtype} : *found;
}

/// Reads a safetensors file.
class safetensors_reader {
 public:
  explicit safetensors_reader(const file_source& file) : path_(file.name()), input_(file.open()) {
    input_->seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(input_->tellg());
    input_->seekg(0);
    std::array<char, sizeof(std::uint64_t)> length{};
    input_->read(length.data(), length.size());
    const std::uint64_t header = little_endian({length.data(), length.size()});
    require<data_error>(input_->good() && header <= max_header && header + sizeof(length) <= size,
                        path_,
                        ": expected a safetensors file, which begins with the length of its "
                        "header, at most ",
                        max_header, " bytes; the file is in another format or truncated");
    std::string text(static_cast<std::size_t>(header), '\0');
    input_->read(text.data(), static_cast<std::streamsize>(header));
    std::optional<std::string> repeated;
    header_ = parse_header(text, repeated);
    require<data_error>(input_->good() && header_.is_object(), path_,
                        ": expected a safetensors file, but its header is not a JSON object");
    require<data_error>(!repeated, path_, ": the header has the name '", repeated.value_or(""),
                        "' twice; the file is damaged");
    data_ = length.size() + header;
    data_size_ = size - data_;
  }

  /// Reads all tensors in the order of their data. Doubles stay doubles. The header is checked
  /// before elements are read.
  [[nodiscard]] std::vector<named_tensor> read_exactly() {
    std::vector<named_tensor> tensors;
    for (const place& p : places()) {
      require<data_error>(p.extents.size() <= shape::max_rank, called(p.name),
                          ": expected at most ", shape::max_rank, " axes, got ", p.extents.size());
      const shape extents(p.extents.begin(), p.extents.end());
      within_memory(called(p.name), [&] {
        require_readable(p);
        const std::vector<char> bytes = bytes_of(p);
        const std::size_t count = bytes.size() / p.kind.size;
        if (p.kind.dtype == "F64") {
          std::vector<double> values(count);
          if (count > 0) {
            std::memcpy(values.data(), bytes.data(), bytes.size());
            convert_little_endian(std::span(values));
          }
          tensors.push_back({p.name, extents, std::move(values)});
        } else {
          std::vector<float> values(count);
          p.kind.read(bytes.data(), values.data(), count, called(p.name), p.kind.dtype);
          tensors.push_back({p.name, extents, std::move(values)});
        }
      });
    }
    return tensors;
  }

  /// Reads all tensors as floats.
  [[nodiscard]] tensor_map read() {
    tensor_map tensors;
    for (const place& p : places()) {
      try {
        tensors.emplace(p.name, within_memory(called(p.name), [&] { return elements_of(p); }));
      } catch (const unreadable_elements& e) {
        tensors.add_unreadable(p.name, e.what());
      }
    }
    return tensors;
  }

  /// Returns the tensors of 32-bit floats by name, where they are in `bytes`, the bytes of this
  /// file, if they are aligned and the processor is little-endian. `owner` keeps the bytes.
  [[nodiscard]] std::map<std::string, shared_floats> floats_in(
      std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) const {
    std::map<std::string, shared_floats> result;
    for (const place& p : places()) {
      if (p.kind.dtype == "F32" && !is_big_endian) {
        const std::span<const std::byte> elements =
            bytes.subspan(memory_size(data_ + p.first), memory_size(p.end - p.first));
        const shared_floats floats{
            {reinterpret_cast<const float*>(elements.data()), elements.size() / sizeof(float)},
            owner};
        if (floats.is_aligned()) {
          result[p.name] = floats;
        }
      }
    }
    return result;
  }

  /// Returns the metadata of the header by name.
  [[nodiscard]] std::map<std::string, std::string> metadata() const {
    std::map<std::string, std::string> result;
    const auto found = header_.find("__metadata__");
    if (found == header_.end()) {
      return result;
    }
    require<data_error>(found->is_object(), path_, ": expected a JSON object as __metadata__, got ",
                        found->type_name());
    for (const auto& [name, value] : found->items()) {
      require<data_error>(value.is_string(), path_, ": expected a text as '", name,
                          "' of __metadata__, got ", value.type_name());
      result.emplace(name, value.get<std::string>());
    }
    return result;
  }

 private:
  static constexpr std::uint64_t max_header = 100'000'000;

  /// A tensor's entry in the header. Its data are the bytes [first, end) after the header.
  struct place {
    std::string name;
    element_kind kind{};
    std::vector<std::uint64_t> extents;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] std::string called(const std::string& name) const {
    return path_ + ": tensor '" + name + "'";
  }

  [[nodiscard]] place place_of(const std::string& name, const nlohmann::json& entry) const {
    const std::string location = called(name);
    place result;
    result.name = name;
    try {
      const auto offsets = whole_numbers(entry, "data_offsets", location);
      require<data_error>(offsets.size() == 2 && offsets[0] <= offsets[1], location,
                          ": expected two data_offsets in ascending order");
      result.first = offsets[0];
      result.end = offsets[1];
      result.extents = whole_numbers(entry, "shape", location);
      result.kind = kind_of(entry.at("dtype").get<std::string>());
    } catch (const nlohmann::json::exception& e) {
      throw data_error(text(location, ": expected dtype, shape and data_offsets (", e.what(), ")"));
    }
    // Divides by the extents instead of multiplying them, because their product could overflow.
    // Elements of an unsupported dtype may have any size.
    const auto& [ignored, kind, extents, first, end] = result;
    const std::size_t size = std::max<std::size_t>(kind.size, 1);
    std::uint64_t remaining = (end - first) / size;
    bool whole = (end - first) % size == 0;
    const bool empty = std::find(extents.begin(), extents.end(), 0U) != extents.end();
    for (std::uint64_t extent : extents) {
      whole = whole && (empty || remaining % extent == 0);
      remaining = empty ? remaining : remaining / extent;
    }
    whole = kind.size == 0 || (whole && remaining == (empty ? 0U : 1U));
    require<data_error>(whole && end <= data_size_, location,
                        ": the shape and dtype do not match the ", end - first,
                        " bytes of the data_offsets, or these are outside the file; the file is "
                        "damaged or truncated");
    return result;
  }

  void require_readable(const place& p) const {
    require<unreadable_elements>(
        p.kind.size > 0, called(p.name),
        ": expected one of the dtypes F64, F32, F16, BF16, F8_E5M2, F8_E4M3, BOOL, I8 to I64 and "
        "U8 to U64, got ",
        p.kind.dtype, "; convert the tensor before saving");
  }

  [[nodiscard]] xt::xarray<float> elements_of(const place& p) {
    require_readable(p);
    const std::vector<char> bytes = bytes_of(p);
    xt::xarray<float> values(xt::xarray<float>::shape_type(p.extents.begin(), p.extents.end()));
    p.kind.read(bytes.data(), values.data(), values.size(), called(p.name), p.kind.dtype);
    return values;
  }

  /// Returns a list of whole numbers. Checks it, because the parser would also convert fractions,
  /// booleans and negative numbers.
  [[nodiscard]] static std::vector<std::uint64_t> whole_numbers(const nlohmann::json& entry,
                                                                const char* key,
                                                                const std::string& location) {
    const nlohmann::json& numbers = entry.at(key);
    const bool whole = numbers.is_array() &&
                       std::all_of(numbers.begin(), numbers.end(),
                                   [](const auto& number) { return number.is_number_unsigned(); });
    require<data_error>(whole, location, ": expected dtype, shape and data_offsets (", key,
                        " must be a list of non-negative integers)");
    return numbers.get<std::vector<std::uint64_t>>();
  }

  /// Sorts the tensors by position. Throws `data_error` unless each byte after the header belongs
  /// to exactly one tensor, as the format requires.
  void require_contiguous(std::vector<place>& places) const {
    std::sort(places.begin(), places.end(), [](const place& a, const place& b) {
      return std::pair(a.first, a.end) < std::pair(b.first, b.end);
    });
    std::uint64_t position = 0;
    for (const place& p : places) {
      require<data_error>(
          p.first == position, called(p.name), ": expected it to begin at byte ", position,
          " of the data, where the tensor before it ends, got byte ", p.first, "; the ",
          p.first < position ? "tensors overlap" : "bytes between them belong to no tensor",
          ", so the file is damaged");
      position = p.end;
    }
    require<data_error>(position == data_size_, path_, ": the tensors end at byte ", position,
                        " of the ", data_size_, " bytes after the header; the file is damaged");
  }

  [[nodiscard]] std::vector<place> places() const {
    std::vector<place> result;
    for (const auto& [name, entry] : header_.items()) {
      if (name != "__metadata__") {
        result.push_back(place_of(name, entry));
      }
    }
    require_contiguous(result);
    return result;
  }

  [[nodiscard]] std::vector<char> bytes_of(const place& p) {
    std::vector<char> bytes(memory_size(p.end - p.first));
    input_->seekg(static_cast<std::streamoff>(data_ + p.first));
    input_->read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    require<data_error>(input_->good(), called(p.name), ": reading the file failed");
    return bytes;
  }

  std::string path_;
  std::unique_ptr<std::istream> input_;
  nlohmann::json header_;
  std::uint64_t data_ = 0;       // position of the first element in the file
  std::uint64_t data_size_ = 0;  // number of bytes after the header
};

}  // namespace glia::detail
