#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test {

/// What numpy.save writes: the preamble, the header padded to `length`, the elements.
inline std::vector<std::uint8_t> npy_file(const std::string& dictionary, std::size_t element_bytes,
                                          std::size_t length = 118) {
  std::string header = dictionary;
  header.resize(length - 1, ' ');
  std::string file = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(length & 0xFF) +
                     static_cast<char>(length >> 8) + header + '\n';
  file.resize(file.size() + element_bytes, '\0');
  return {file.begin(), file.end()};
}

inline std::string npy_header(const std::string& elements, const std::string& shape) {
  return "{'descr': '" + elements + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

/// What numpy.save writes for a vector of floats.
inline std::string npy_file(const std::vector<float>& values) {
  const auto head = npy_file(npy_header("<f4", "(" + std::to_string(values.size()) + ",)"), 0);
  return std::string(head.begin(), head.end())
      .append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

inline void put_little_endian(std::string& output, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    output += static_cast<char>(value >> (8 * i));
  }
}

/// Compressed by zlib: as it is in a zip archive, or, with `window_bits` 31, in a file of gzip.
inline std::string deflated(const std::string& bytes, int window_bits = -15) {
  std::string result(bytes.size() + 64, '\0');
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(result.data());
  z.avail_out = static_cast<uInt>(result.size());
  deflate(&z, Z_FINISH);
  result.resize(z.total_out);
  deflateEnd(&z);
  return result;
}

struct zip_entry {
  std::string name;
  std::string content;
  bool compressed = false;
  std::uint32_t declared = 0;  // another size than the content's
};

/// A zip archive, written by hand.
inline std::vector<std::uint8_t> zipped(const std::vector<zip_entry>& entries) {
  const auto put = put_little_endian;
  std::string file;
  std::string directory;
  for (const zip_entry& e : entries) {
    const std::string stored = e.compressed ? deflated(e.content) : e.content;
    const auto sum = static_cast<std::uint32_t>(crc32(
        0, reinterpret_cast<const Bytef*>(e.content.data()), static_cast<uInt>(e.content.size())));
    const auto size = static_cast<std::uint32_t>(e.content.size());
    std::string common;
    put(common, 20, 2);  // version
    put(common, 0, 2);   // flags
    put(common, e.compressed ? 8 : 0, 2);
    put(common, 0x21, 4);  // time and date
    put(common, sum, 4);
    put(common, static_cast<std::uint32_t>(stored.size()), 4);
    put(common, e.declared > 0 ? e.declared : size, 4);
    put(common, static_cast<std::uint32_t>(e.name.size()), 2);
    put(common, 0, 2);
    std::string central = "PK\x01\x02";
    put(central, 20, 2);
    central += common;
    put(central, 0, 2);
    put(central, 0, 2);
    put(central, 0, 2);
    put(central, 0, 4);
    put(central, static_cast<std::uint32_t>(file.size()), 4);
    directory += central + e.name;
    file += "PK\x03\x04" + common + e.name + stored;
  }
  std::string end = "PK\x05\x06";
  put(end, 0, 4);
  put(end, static_cast<std::uint32_t>(entries.size()), 2);
  put(end, static_cast<std::uint32_t>(entries.size()), 2);
  put(end, static_cast<std::uint32_t>(directory.size()), 4);
  put(end, static_cast<std::uint32_t>(file.size()), 4);
  put(end, 0, 2);
  file += directory + end;
  return {file.begin(), file.end()};
}

/// A safetensors file of a header, after its length, and bytes of data.
inline std::vector<std::uint8_t> safetensors_file(const std::string& header,
                                                  const std::vector<std::uint8_t>& data) {
  std::vector<std::uint8_t> bytes;
  for (int shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::uint8_t>(std::uint64_t{header.size()} >> shift));
  }
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

}  // namespace test
