#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/whole_file.hpp"
#include "glia/io/tensor_map.hpp"

// The format: 8 bytes with the header's length, little-endian; the header, a JSON object that gives
// every tensor its dtype, shape and place; the elements, row-major. The format's own description,
// github.com/huggingface/safetensors, also gives the limits that are checked here.

namespace glia {

namespace detail {

static_assert(std::endian::native == std::endian::little, "files are read as they lie in memory");

[[nodiscard]] inline float float_of_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 0) {
    const float tiny = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? tiny : -tiny;
  }
  const std::uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

template <class From, class Convert>
void convert_elements(const char* bytes, float* to, std::size_t count, const Convert& convert) {
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, bytes + i * sizeof(From), sizeof(From));
    to[i] = convert(value);
  }
}

/// A reader of elements of some dtype: their size, and how they become floats.
struct element_kind {
  std::size_t size;
  void (*read)(const char* bytes, float* to, std::size_t count);
};

[[nodiscard]] inline element_kind kind_of(const std::string& dtype, const std::string& where) {
  if (dtype == "F32") {
    return {4, [](const char* from, float* to, std::size_t n) { std::memcpy(to, from, 4 * n); }};
  }
  if (dtype == "F64") {
    return {8, [](const char* from, float* to, std::size_t n) {
              convert_elements<double>(from, to, n, [](double v) { return static_cast<float>(v); });
            }};
  }
  if (dtype == "F16") {
    return {2, [](const char* from, float* to, std::size_t n) {
              convert_elements<std::uint16_t>(from, to, n, float_of_half);
            }};
  }
  if (dtype == "BF16") {
    return {2, [](const char* from, float* to, std::size_t n) {
              convert_elements<std::uint16_t>(from, to, n, [](std::uint16_t v) {
                return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16);
              });
            }};
  }
  if (dtype == "I64") {
    return {8, [](const char* from, float* to, std::size_t n) {
              convert_elements<std::int64_t>(from, to, n,
                                             [](std::int64_t v) { return static_cast<float>(v); });
            }};
  }
  throw data_error(text(where, ": has the dtype ", dtype,
                        ", expected F32, F64, F16, BF16 or I64; convert it before"));
}

class safetensors_reader {
 public:
  explicit safetensors_reader(const std::filesystem::path& path)
      : path_(path.string()), in_(path, std::ios::binary) {
    require<data_error>(in_.is_open(), path_, ": cannot be opened for reading");
    in_.seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(in_.tellg());
    in_.seekg(0);
    std::uint64_t header = 0;
    in_.read(reinterpret_cast<char*>(&header), sizeof(header));
    require<data_error>(in_.good() && header <= max_header && header + sizeof(header) <= size,
                        path_, ": expected a safetensors file, which begins with its header's ",
                        "length, at most ", max_header, " bytes; it is of another format or cut ",
                        "short");
    std::string text(header, '\0');
    in_.read(text.data(), static_cast<std::streamsize>(header));
    header_ = nlohmann::json::parse(text, nullptr, false);
    require<data_error>(in_.good() && header_.is_object(), path_,
                        ": expected a safetensors file, but its header is no JSON object");
    data_ = sizeof(header) + header;
    data_size_ = size - data_;
  }

  [[nodiscard]] tensor_map read() {
    tensor_map tensors;
    for (const auto& [name, entry] : header_.items()) {
      if (name != "__metadata__") {
        tensors.emplace(name, read(name, entry));
      }
    }
    return tensors;
  }

 private:
  static constexpr std::uint64_t max_header = 100'000'000;

  [[nodiscard]] xt::xarray<float> read(const std::string& name, const nlohmann::json& entry) {
    const std::string where = path_ + ": tensor '" + name + "'";
    const auto [dtype, extents, first, end] = place_of(entry, where);
    const element_kind kind = kind_of(dtype, where);
    // The product of the extents is compared by division, as a product could overflow.
    std::uint64_t left = (end - first) / kind.size;
    bool whole = (end - first) % kind.size == 0;
    const bool empty = std::find(extents.begin(), extents.end(), 0U) != extents.end();
    for (std::size_t extent : extents) {
      whole = whole && (empty || left % extent == 0);
      left = empty ? left : left / extent;
    }
    require<data_error>(whole && left == (empty ? 0U : 1U) && first <= end && end <= data_size_,
                        where, ": its shape and dtype do not match the ", end - first,
                        " bytes that it is said to have, or these lie outside the file; the file ",
                        "is damaged or cut short");
    std::vector<char> bytes(end - first);
    in_.seekg(static_cast<std::streamoff>(data_ + first));
    in_.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    require<data_error>(in_.good(), where, ": reading failed");
    xt::xarray<float> values(xt::xarray<float>::shape_type(extents.begin(), extents.end()));
    if (values.size() > 0) {
      kind.read(bytes.data(), values.data(), values.size());
    }
    return values;
  }

  struct place {
    std::string dtype;
    std::vector<std::size_t> extents;
    std::uint64_t first;
    std::uint64_t end;
  };
  [[nodiscard]] static place place_of(const nlohmann::json& entry, const std::string& where) {
    try {
      const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
      require<data_error>(offsets.size() == 2 && offsets[0] <= offsets[1], where,
                          ": expected two rising data_offsets");
      return {entry.at("dtype").get<std::string>(),
              entry.at("shape").get<std::vector<std::size_t>>(), offsets[0], offsets[1]};
    } catch (const nlohmann::json::exception& e) {
      throw data_error(text(where, ": expected dtype, shape and data_offsets (", e.what(), ")"));
    }
  }

  std::string path_;
  std::ifstream in_;
  nlohmann::json header_;
  std::uint64_t data_ = 0;  // where the elements begin
  std::uint64_t data_size_ = 0;
};

}  // namespace detail

/// Reads all tensors of a safetensors file as floats, from float, double, half, bfloat16 and 64-bit
/// integer elements. Needs nlohmann-json: link `glia::safetensors`.
///
/// Throws `data_error`, naming file and tensor, for a file that cannot be opened, is of another
/// format, damaged or cut short.
[[nodiscard]] inline tensor_map read_safetensors(const std::filesystem::path& path) {
  return detail::safetensors_reader(path).read();
}

/// Writes tensors as floats to a safetensors file, which is there whole or not at all.
///
/// Throws `data_error`, naming the file, where it cannot be written, and for names that the format
/// does not have: `__metadata__`, and what is no UTF-8.
inline void write_safetensors(const std::filesystem::path& path, const tensor_map& tensors) {
  nlohmann::json header = nlohmann::json::object();
  std::uint64_t at = 0;
  for (const auto& [name, values] : tensors) {
    require<data_error>(name != "__metadata__", path.string(), ": a tensor cannot be called '",
                        name, "', which is the format's own");
    const std::uint64_t end = at + values.size() * sizeof(float);
    header[name] = {
        {"dtype", "F32"},
        {"shape", std::vector<std::size_t>(values.shape().begin(), values.shape().end())},
        {"data_offsets", {at, end}}};
    at = end;
  }
  std::string head;
  try {
    head = header.dump();
  } catch (const nlohmann::json::exception& e) {
    throw data_error(text(path.string(), ": a tensor's name is no UTF-8 (", e.what(), ")"));
  }
  head.resize((head.size() + 7) / 8 * 8, ' ');  // so that the elements are aligned
  write_whole_file(path, [&](std::ostream& out) {
    const std::uint64_t length = head.size();
    out.write(reinterpret_cast<const char*>(&length), sizeof(length));
    out.write(head.data(), static_cast<std::streamsize>(length));
    for (const auto& [name, values] : tensors) {
      out.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
    }
  });
}

}  // namespace glia
