#include <zlib.h>

#include <algorithm>
#include <glia/compression/gzip.hpp>
#include <glia/data/idx.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/data_files.hpp"

namespace {

constexpr std::size_t max_bytes = 1 << 20;

/// What a file of gzip holds, up to where it is damaged, but not more than `max_size` bytes.
fuzz::bytes unpacked(fuzz::byte_view file, std::size_t max_size) {
  z_stream z{};
  fuzz::bytes content(max_size);
  if (inflateInit2(&z, 31) != Z_OK) {
    return {};
  }
  z.next_in = const_cast<Bytef*>(file.data());
  z.avail_in = static_cast<uInt>(file.size());
  z.next_out = content.data();
  z.avail_out = static_cast<uInt>(max_size);
  inflate(&z, Z_FINISH);
  content.resize(z.total_out);
  inflateEnd(&z);
  return content;
}

/// A file of gzip in one block that is not compressed.
fuzz::bytes packed(fuzz::byte_view content) {
  fuzz::bytes file{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 1};
  const auto put = [&](std::size_t value, int count) {
    for (int i = 0; i < count; ++i) {
      file.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  };
  put(content.size(), 2);
  put(~content.size(), 2);
  file.insert(file.end(), content.begin(), content.end());
  put(crc32(0, content.data(), static_cast<uInt>(content.size())), 4);
  put(content.size(), 4);
  return file;
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::gzip(); }

void fuzz::check(byte_view file) {
  const glia::idx_bytes read = read_within(
      {.for_each_byte = 8, .fixed = 5 * max_bytes + (1 << 20)}, file, [](const auto& path) {
        return glia::read_idx(path, glia::gzip_files{}, {.max_bytes = max_bytes});
      });
  require(read.values.size() == read.extents.size(), "the extents are of another size");
}

// Half of the changes are to the content, under a sum that fits.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  constexpr std::size_t around = 64;
  fuzz::bytes content;
  if (seed % 2 == 0 && max_size > around) {
    content = unpacked({data, size}, std::min<std::size_t>(max_size - around, 0xFFFF));
  }
  if (content.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  const std::size_t content_size = content.size();
  content.resize(std::min<std::size_t>(max_size - around, 0xFFFF));
  content.resize(LLVMFuzzerMutate(content.data(), content_size, content.size()));
  const fuzz::bytes file = packed(content);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}
