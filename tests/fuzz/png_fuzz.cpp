#include <zlib.h>

#include <glia/image/png.hpp>
#include <glia/image/read_image.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/images.hpp"

namespace {

/// Puts the sums of chunks where they belong.
void seal(std::span<std::uint8_t> file) {
  for (std::size_t offset = 8; offset + 12 <= file.size();) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      size = size << 8 | file[offset + i];
    }
    if (size > file.size() - offset - 12) {
      return;
    }
    const uLong sum = crc32(0, file.data() + offset + 4, static_cast<uInt>(size) + 4);
    for (std::size_t i = 0; i < 4; ++i) {
      file[offset + 8 + size + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    }
    offset += size + 12;
  }
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::png(); }

void fuzz::check(byte_view file) {
  constexpr std::size_t max_pixels = 1 << 16;
  const glia::image picture = read_within(
      {.for_each_byte = 8, .fixed = 10 << 20}, file,
      [](const auto& path) { return glia::read_image(path, {.max_pixels = max_pixels}); });
  require(picture.height * picture.width <= max_pixels &&
              picture.pixels.size() == picture.height * picture.width * 3,
          "the extents are of another size");
  const glia::image_info info = glia::read_image_info(file_of(file));
  require(info.height == picture.height && info.width == picture.width,
          "the header says other extents");
  if (info.format == glia::image_format::png) {
    without_error([&] {
      glia::write_png(other_path(), picture);
      require(glia::read_image(other_path()) == picture,
              "what was read is not what was written of it");
    });
  }
}

// Half of the changes leave sums that fit.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned seed) {
  return fuzz::change_and_seal(data, size, max_size, seed, seal);
}
