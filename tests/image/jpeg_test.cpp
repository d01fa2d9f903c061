#include <glia/image/jpeg.hpp>
#include <glia/image/read_image.hpp>
#include <glia/image/resize.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "posix.hpp"

using test::contains;
using test::cut;
using test::difference;
using test::gradient;
using test::jpeg_file;
using test::message_of;

namespace {

std::string jpeg_error(const test::byte_vector& file, const glia::decode_options& options = {}) {
  return message_of<glia::data_error>([&] { (void)glia::decode_jpeg(file, options); });
}

/// The file with bytes put in at a place.
test::byte_vector insert_bytes(test::byte_vector file, std::size_t offset,
                               const test::byte_vector& part) {
  file.insert(file.begin() + static_cast<std::ptrdiff_t>(offset), part.begin(), part.end());
  return file;
}

std::size_t position_of(const test::byte_vector& file, const test::byte_vector& part) {
  return static_cast<std::size_t>(std::search(file.begin(), file.end(), part.begin(), part.end()) -
                                  file.begin());
}

}  // namespace

TEST_CASE("JPEG images are decoded to their pixels, sequential and progressive") {
  const glia::image picture = gradient(40, 61);
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    CHECK(difference(glia::decode_jpeg(jpeg_file(picture, flags)), picture) <= 4);
  }
}

TEST_CASE("JPEG images are decoded at the smallest scale that is large enough") {
  const glia::image picture = gradient(160, 240);
  const auto file = jpeg_file(picture);
  const auto extents = [&](std::size_t height, std::size_t width) {
    const glia::image read = glia::decode_jpeg(file, {.min_height = height, .min_width = width});
    return std::vector<std::size_t>{read.height, read.width};
  };
  using list = std::vector<std::size_t>;
  CHECK(extents(0, 0) == list{160, 240});
  CHECK(extents(1, 1) == list{20, 30});
  CHECK(extents(20, 30) == list{20, 30});
  CHECK(extents(21, 30) == list{40, 60});
  CHECK(extents(100, 100) == list{100, 150});
  CHECK(extents(100, 151) == list{120, 180});
  CHECK(extents(0, 200) == list{140, 210});
  CHECK(extents(161, 1) == list{160, 240});  // never enlarged
  const glia::image half = glia::decode_jpeg(file, {.min_height = 80, .min_width = 120});
  CHECK(difference(half, glia::resize(picture, 80, 120)) <= 4);
}

TEST_CASE("gray and CMYK JPEG images become RGB") {
  const glia::image picture = gradient(24, 32);
  const auto gray = glia::decode_jpeg(jpeg_file(picture.pixels, 24, 32, TJPF_RGB, TJSAMP_GRAY));
  for (std::size_t i = 0; i < gray.pixels.size(); i += 3) {
    const double luma =
        0.299 * picture.pixels[i] + 0.587 * picture.pixels[i + 1] + 0.114 * picture.pixels[i + 2];
    REQUIRE(std::abs(gray.pixels[i] - luma) <= 4);
    REQUIRE(gray.pixels[i] == gray.pixels[i + 1]);
    REQUIRE(gray.pixels[i] == gray.pixels[i + 2]);
  }
  // Inks as they are stored, 255 being none: cyan 200, magenta 100, yellow 50 under black 128.
  test::byte_vector inks;
  for (int i = 0; i < 24 * 32; ++i) {
    inks.insert(inks.end(), {200, 100, 50, 128});
  }
  const auto read = glia::decode_jpeg(jpeg_file(inks, 24, 32, TJPF_CMYK, TJSAMP_444));
  CHECK(difference(read, glia::filled_image(24, 32, {100, 50, 25})) <= 2);
}

TEST_CASE("a JPEG image that is cut short anywhere is refused") {
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    const auto file = jpeg_file(gradient(40, 61), flags);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const std::string message = jpeg_error(cut(file, size));
      INFO(size << " of " << file.size() << " bytes");
      REQUIRE(contains(message, "expected a complete JPEG image, but "));
    }
  }
}

TEST_CASE("JPEG images that are only untidy are read") {
  const glia::image picture = gradient(40, 61);
  const auto file = jpeg_file(picture);
  const auto end = file.size() - 2;
  const auto scan = position_of(file, {0xFF, 0xDA});
  const auto expected = glia::decode_jpeg(file);
  auto old = file;
  old[11] = 9;  // JFIF revision 9
  for (const auto& untidy :
       {insert_bytes(file, end, {1, 2, 3}), insert_bytes(file, scan, {1, 2, 3}),
        insert_bytes(file, file.size(), {1, 2, 3}), old}) {
    CHECK(glia::decode_jpeg(untidy) == expected);
    // Untidiness is what libjpeg reports first; it must not hide that the end is missing.
    CHECK(contains(jpeg_error(cut(untidy, scan + 200)), "damaged, truncated"));
  }
}

TEST_CASE("damaged JPEG images are refused with libjpeg's reason") {
  const auto file = jpeg_file(gradient(40, 61));
  const auto middle = position_of(file, {0xFF, 0xDA}) + 150;
  CHECK(contains(jpeg_error(insert_bytes(file, middle, {0xFF, 0xD9})),
                 "premature end of data segment"));
  CHECK(contains(jpeg_error(test::text_file("no image")), "Not a JPEG file"));
}

TEST_CASE("a JPEG header that declares too many pixels is found out before memory is taken") {
  const auto file = jpeg_file(gradient(16, 16));
  CHECK(contains(jpeg_error(test::jpeg_declaring(file, 30000, 30000)),
                 "declares 30000 x 30000 pixels (height x width), more than the 100000000 that are "
                 "allowed; if you trust the file, raise max_pixels, or"));
  CHECK(contains(jpeg_error(file, {.max_pixels = 255}), "declares 16 x 16 pixels"));
  CHECK(jpeg_error(file, {.max_pixels = 256}).empty());
}

TEST_CASE("a JPEG header that declares more than the file can hold is found out") {
  const glia::image flat = glia::filled_image(2000, 2000, {90, 90, 90});
  for (const int flags : {0, TJFLAG_PROGRESSIVE}) {
    CHECK(glia::decode_jpeg(jpeg_file(flat, flags)).pixels.size() == flat.pixels.size());
  }
  const auto file = jpeg_file(gradient(16, 16));
  CHECK(contains(jpeg_error(test::jpeg_declaring(file, 9000, 9000)),
                 glia::text("the header declares 9000 x 9000 pixels, more than ", file.size(),
                            " bytes can hold); get the file again")));
  // Arithmetic coding takes next to nothing for pixels of one color.
#if GLIA_TEST_HAS_POSIX
  setenv("TJ_ARITHMETIC", "1", 1);
  const auto arithmetic = jpeg_file(flat);
  unsetenv("TJ_ARITHMETIC");
#else
  const std::vector<std::uint8_t> arithmetic;
  GLIA_SKIP("setenv is of POSIX");
#endif
  if (arithmetic.empty()) {
    GLIA_SKIP("TurboJPEG without arithmetic coding");
  }
  REQUIRE(arithmetic.size() < 2000 * 2000 / 512);
  CHECK(difference(glia::decode_jpeg(arithmetic), flat) <= 1);
}
