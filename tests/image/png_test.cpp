#include <glia/image/png.hpp>
#include <glia/image/read_image.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"

using test::contains;
using test::difference;
using test::message_of;
using test::png_file;

namespace {

std::string png_error(const test::byte_vector& file, const glia::decode_options& options = {}) {
  return message_of<glia::data_error>([&] { (void)glia::decode_png(file, options); });
}

std::string reading_error(const std::filesystem::path& path,
                          const glia::decode_options& options = {}) {
  return message_of<glia::data_error>([&] { (void)glia::read_image(path, options); });
}

}  // namespace

TEST_CASE("PNG images are decoded to their pixels") {
  const glia::image picture = test::scrambled(9, 14);
  CHECK(glia::decode_png(png_file(picture)) == picture);
  CHECK(glia::decode_png(png_file(9, 14, picture.pixels, {.interlaced = true})) == picture);
}

TEST_CASE("PNG images of other kinds become 8-bit RGB") {
  using glia::decode_png;
  using test::byte_vector;
  SECTION("a palette of 1, 2 or 8 bits") {
    const std::vector<png_color> palette{{10, 20, 30}, {40, 50, 60}, {70, 80, 90}};
    const byte_vector colors{10, 20, 30, 70, 80, 90, 40, 50, 60};
    CHECK(decode_png(png_file(1, 3, {0, 2, 1}, {8, PNG_COLOR_TYPE_PALETTE, palette})).pixels ==
          colors);
    CHECK(decode_png(png_file(1, 3, {0b00100100}, {2, PNG_COLOR_TYPE_PALETTE, palette})).pixels ==
          colors);
    CHECK(decode_png(
              png_file(1, 2, {0b01000000}, {1, PNG_COLOR_TYPE_PALETTE, {palette[0], palette[1]}}))
              .pixels == byte_vector{10, 20, 30, 40, 50, 60});
  }
  SECTION("gray of 8, 4 and 1 bits") {
    CHECK(decode_png(png_file(1, 2, {7, 200}, {8, PNG_COLOR_TYPE_GRAY})).pixels ==
          byte_vector{7, 7, 7, 200, 200, 200});
    CHECK(decode_png(png_file(1, 2, {0x2F}, {4, PNG_COLOR_TYPE_GRAY})).pixels ==
          byte_vector{34, 34, 34, 255, 255, 255});
    CHECK(decode_png(png_file(1, 2, {0b01000000}, {1, PNG_COLOR_TYPE_GRAY})).pixels ==
          byte_vector{0, 0, 0, 255, 255, 255});
  }
  SECTION("16 bits") {
    const auto read = decode_png(png_file(1, 1, {0, 0, 0x80, 0x80, 0xFF, 0xFF}, {.bit_depth = 16}));
    CHECK(difference(read, {1, 1, {0, 128, 255}}) <= 1);
  }
  SECTION("alpha is blended with white") {
    const auto read = decode_png(png_file(1, 3, {9, 8, 7, 255, 9, 8, 7, 0, 0, 0, 0, 128},
                                          {.color_type = PNG_COLOR_TYPE_RGB_ALPHA}));
    // Half of black on white in linear light: 0.498 of sRGB's scale is 0.735 of its values.
    CHECK(difference(read, {1, 3, {9, 8, 7, 255, 255, 255, 187, 187, 187}}) <= 1);
    const auto gray =
        decode_png(png_file(1, 2, {9, 255, 9, 0}, {.color_type = PNG_COLOR_TYPE_GRAY_ALPHA}));
    CHECK(difference(gray, {1, 2, {9, 9, 9, 255, 255, 255}}) <= 1);
  }
}

TEST_CASE("damaged PNG images are refused") {
  const auto file = png_file(test::scrambled(30, 40));
  const std::size_t pixels_end = file.size() - 12 - 4;  // the end chunk, the checksum
  for (std::size_t size = 0; size < pixels_end; size += 7) {
    INFO(size << " of " << file.size() << " bytes");
    REQUIRE(contains(png_error(test::cut(file, size)), "damaged or truncated"));
  }
  auto damaged = file;
  damaged[file.size() / 2] ^= 0xFF;
  CHECK(contains(png_error(damaged), "expected a complete PNG image"));
}

TEST_CASE("a PNG header that declares too many pixels is found out before memory is taken") {
  const auto file = png_file(test::scrambled(16, 16));
  CHECK(contains(png_error(test::png_declaring(file, 30000, 30000)),
                 "declares 30000 x 30000 pixels (height x width), more than the 100000000"));
  CHECK(contains(png_error(file, {.max_pixels = 255}), "declares 16 x 16 pixels"));
  CHECK(png_error(file, {.max_pixels = 256}).empty());
}

TEST_CASE("a PNG header that declares more than the file can hold is found out") {
  // Of zeros, as dense as Deflate packs them: some 1000 bytes in one.
  const auto dense = png_file(2000, 2000, test::byte_vector(500'000), {1, PNG_COLOR_TYPE_GRAY});
  REQUIRE(dense.size() < 1000);
  CHECK(png_error(dense).empty());
  const auto file = png_file(test::scrambled(16, 16));
  CHECK(contains(png_error(test::png_declaring(file, 9000, 9000)),
                 glia::text("the header declares 9000 x 9000 pixels, more than ", file.size(),
                            " bytes can hold); get the file again")));
}

TEST_CASE("parts of PNG files that are larger than the file are found out before memory is taken") {
  const auto file = png_file(test::scrambled(4, 4));
  // A part behind the header's 25 bytes, which declares 2 GB.
  const auto insert_part = [&](const test::byte_vector& part) {
    auto result = file;
    result.insert(result.begin() + 33, part.begin(), part.end());
    return result;
  };
  CHECK(
      contains(png_error(insert_part({0x7F, 0xFF, 0xFF, 0xFF, 'z', 'T', 'X', 't', 'a', 0, 0})),
               glia::text("a chunk of 2147483647 bytes begins at byte 33 of ", file.size() + 11)));
  CHECK(contains(png_error(insert_part({0, 0, 0, 0})), "damaged or truncated"));
  // One that nobody knows stands before the header: its place is first.
  auto first = file;
  const test::byte_vector unknown{0, 0, 0, 0, 'a', 'b', 'C', 'd', 0, 0, 0, 0};
  first.insert(first.begin() + 8, unknown.begin(), unknown.end());
  CHECK(contains(png_error(first), "it does not begin with a header"));
}

TEST_CASE("compressed texts in PNG files are passed over") {
  const glia::image picture = test::scrambled(4, 4);
  auto file = png_file(picture);
  // Neither is whole; libpng would unpack them.
  for (const char* kind : {"zTXt", "iTXt"}) {
    test::byte_vector part{0, 0, 0, 3};
    part.insert(part.end(), kind, kind + 4);
    part.insert(part.end(), {1, 2, 3, 0, 0, 0, 0});
    file.insert(file.begin() + 33, part.begin(), part.end());
    CHECK(glia::decode_png(file) == picture);
  }
}

TEST_CASE("written PNG files are read again, and nothing is left beside them") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "picture.png";
  const glia::image picture = test::scrambled(5, 8);
  folder.write("picture.png", {1, 2, 3});
  glia::write_png(path, picture);
  CHECK(glia::read_image(path) == picture);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);

  const auto nowhere = folder.path() / "missing" / "picture.png";
  CHECK(contains(message_of<glia::data_error>([&] { glia::write_png(nowhere, picture); }),
                 nowhere.string() + ": cannot be written (No such file or directory);"));
  std::filesystem::create_directories(folder.path() / "taken.png" / "inside");
  CHECK(contains(
      message_of<glia::data_error>([&] { glia::write_png(folder.path() / "taken.png", picture); }),
      "taken.png: is a folder; expected a file"));
  CHECK_THROWS_AS(glia::write_png(path, {2, 2, {1}}), glia::shape_error);
}

TEST_CASE("a file is read by its first bytes, whatever its name") {
  const test::temporary_folder folder;
  const glia::image picture = test::gradient(20, 30);
  folder.write("a.jpg", png_file(picture));
  folder.write("b.png", test::jpeg_file(picture));
  CHECK(glia::read_image(folder.path() / "a.jpg") == picture);
  CHECK(difference(glia::read_image(folder.path() / "b.png"), picture) <= 4);
  CHECK(glia::read_image(folder.path() / "b.png", {.min_height = 5, .min_width = 5}).width == 8);
  const auto a = glia::read_image_info(folder.path() / "a.jpg");
  CHECK(a.format == glia::image_format::png);
  CHECK(a.height == 20);
  CHECK(a.width == 30);
  const auto b = glia::read_image_info(folder.path() / "b.png");
  CHECK(b.format == glia::image_format::jpeg);
  CHECK(b.height == 20);
  CHECK(b.width == 30);
}

TEST_CASE("errors of image files name the file and what is wrong with it") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "photo.jpg";
  const std::string name = path.string() + ": ";
  CHECK(reading_error(path) == name + "no such file");
  const std::string no_file = folder.path().string() + ": is a folder; expected a file";
  CHECK(reading_error(folder.path()) == no_file);
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_image_info(folder.path()); }) ==
        no_file);
  folder.write("photo.jpg", {});
  CHECK(contains(reading_error(path), name + "expected a JPEG or PNG image, got an empty file"));
  folder.write("photo.jpg", test::text_file("Hello, world"));
  CHECK(contains(reading_error(path), name + "expected a JPEG, which begins with"));
  CHECK(contains(reading_error(path), "got 48 65 6C 6C 6F 2C 20 77; convert the file"));
  folder.write("photo.jpg", {0xFF, 0xD8});
  CHECK(contains(reading_error(path), "got FF D8; convert the file"));
  for (const auto& file :
       {png_file(test::scrambled(9, 9)), test::jpeg_file(test::gradient(9, 9))}) {
    folder.write("photo.jpg", test::cut(file, file.size() / 2));
    CHECK(contains(reading_error(path), name + "expected a complete "));
    CHECK(contains(reading_error(path), "get the file again or leave it out"));
    folder.write("photo.jpg", file);
    CHECK(contains(reading_error(path, {.max_pixels = 80}), name + "the header declares 9 x 9"));
    folder.write("photo.jpg", test::cut(file, 12));
    CHECK(contains(message_of<glia::data_error>([&] { (void)glia::read_image_info(path); }),
                   name + "expected a complete "));
  }
}

TEST_CASE("an image that takes more memory than there is, is named") {
  CHECK(message_of<glia::data_error>(
            [] { glia::detail::naming("photo.jpg", []() -> int { throw std::bad_alloc(); }); }) ==
        "photo.jpg: needs more memory than is available; check that the file is not damaged "
        "and that the program has enough memory");
  CHECK(contains(message_of<glia::data_error>([] {
                   glia::detail::naming(
                       "photo.jpg", []() -> int { throw glia::detail::memory_error("a tensor"); });
                 }),
                 "photo.jpg: needs more memory"));
  CHECK(contains(message_of<glia::data_error>([] {
                   glia::detail::naming("photo.jpg",
                                        []() -> int { throw std::length_error("vector"); });
                 }),
                 "photo.jpg: needs more memory"));
}
