#include <glia/image/jpeg.hpp>
#include <glia/image/read_image.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/images.hpp"

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::jpeg(); }

void fuzz::check(byte_view file) {
  constexpr std::size_t max_pixels = 1 << 16;
  const auto read = [&](const glia::decode_options& options) {
    const glia::image picture =
        read_within({.for_each_byte = 8, .fixed = 16 << 20}, file,
                    [&](const auto& path) { return glia::read_image(path, options); });
    require(picture.height * picture.width <= max_pixels &&
                picture.pixels.size() == picture.height * picture.width * 3,
            "the extents are of another size");
    return picture;
  };
  const glia::image picture = read({.max_pixels = max_pixels});
  const glia::image_info info = glia::read_image_info(file_of(file));
  require(info.height == picture.height && info.width == picture.width,
          "the header says other extents");
  // Where a pixel was not written, the two may differ.
  require(read({.max_pixels = max_pixels}) == picture, "read again, it is another picture");
  const glia::image small = read({.max_pixels = max_pixels, .min_height = 1, .min_width = 1});
  require(small.height == (picture.height + 7) / 8 && small.width == (picture.width + 7) / 8,
          "at an eighth of the size it has other extents");
}
