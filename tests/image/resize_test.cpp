#include <glia/image/image_grid.hpp>
#include <glia/image/resize.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"

using test::contains;
using test::difference;
using test::message_of;
using test::scrambled;

// Made with Pillow 13.0 from the same picture: Image.fromarray(a).resize((w, h), Image.BILINEAR).
TEST_CASE("resized pictures equal Pillow's") {
  const glia::image picture = scrambled(5, 7);
  const glia::image smaller{3, 4, {47,  130, 161, 112, 164, 127, 167, 133, 99,  149, 88,  107,
                                   146, 107, 89,  155, 109, 135, 127, 135, 100, 134, 137, 122,
                                   176, 78,  154, 135, 156, 132, 126, 112, 134, 122, 122, 143}};
  CHECK(difference(glia::resize(picture, 3, 4), smaller) <= 1);
  const glia::image wider{
      2, 9, {59,  130, 155, 91,  123, 117, 123, 141, 119, 141, 155, 136, 133, 111,
             101, 170, 140, 93,  143, 129, 118, 129, 111, 120, 161, 104, 82,  177,
             74,  99,  170, 82,  138, 150, 117, 152, 134, 151, 138, 143, 133, 111,
             134, 106, 120, 105, 137, 116, 108, 145, 131, 155, 98,  170}};
  CHECK(difference(glia::resize(picture, 2, 9), wider) <= 1);
  const glia::image higher{
      8, 3, {32,  115, 198, 111, 179, 96,  190, 72,  100, 62,  145, 156, 145, 147, 103,
             153, 99,  111, 104, 177, 101, 183, 106, 114, 109, 135, 121, 147, 117, 86,
             137, 117, 125, 146, 150, 90,  173, 80,  100, 119, 127, 126, 138, 142, 111,
             181, 65,  143, 130, 138, 117, 85,  111, 184, 159, 102, 155, 141, 131, 126,
             114, 122, 143, 141, 132, 161, 148, 125, 133, 141, 132, 105}};
  CHECK(difference(glia::resize(picture, 8, 3), higher) <= 1);
}

TEST_CASE("resizing keeps what it should") {
  const glia::image picture = scrambled(23, 31);
  CHECK(glia::resize(picture, 23, 31) == picture);
  const glia::image plain = glia::filled_image(23, 31, {0, 128, 255});
  for (const std::size_t extent : {1U, 2U, 5U, 16U, 23U, 31U, 50U}) {
    CHECK(glia::resize(plain, extent, extent) == glia::filled_image(extent, extent, {0, 128, 255}));
  }
  const glia::image dot = glia::filled_image(1, 1, {1, 2, 3});
  CHECK(glia::resize(dot, 3, 2) == glia::filled_image(3, 2, {1, 2, 3}));
  // By hand: half-pixel centers 0.5 and 1.5, weights 1/4 and 3/4 between them.
  CHECK(glia::resize({1, 2, {0, 0, 0, 200, 100, 40}}, 1, 4).pixels ==
        test::byte_vector{0, 0, 0, 50, 25, 10, 150, 75, 30, 200, 100, 40});
}

TEST_CASE("the middle is cut out") {
  const glia::image picture = scrambled(5, 6);
  const glia::image middle = glia::center_crop(picture, 2, 3);
  for (std::size_t y = 0; y < 2; ++y) {
    for (std::size_t i = 0; i < 9; ++i) {
      CHECK(middle.pixels[y * 9 + i] == picture.pixels[(y + 1) * 18 + 3 + i]);
    }
  }
  CHECK(contains(message_of<glia::shape_error>([&] { (void)glia::center_crop(picture, 6, 3); }),
                 "center_crop: cannot cut 6 x 3 out of an image of 5 x 6"));
}

TEST_CASE("pictures are resized and cropped in their own proportions") {
  // 20 x 40 shrinks to 10 x 20, of which columns 5 to 14 are left.
  const glia::image picture = test::gradient(20, 40);
  CHECK(glia::resize_and_crop(picture, 10, 10) ==
        glia::center_crop(glia::resize(picture, 10, 20), 10, 10));
  CHECK(glia::resize_and_crop(picture, 40, 20).height == 40);  // enlarged to 40 x 80
  const glia::image odd = glia::resize_and_crop(scrambled(33, 47), 22, 31);
  CHECK(odd.height == 22);
  CHECK(odd.width == 31);
}

TEST_CASE("a part of a resized picture is what is cut out of all of it") {
  // Windows of one row to all, whole among the rows that are there at a time and not.
  for (const std::size_t height : {1U, 2U, 7U, 8U, 9U, 40U, 61U}) {
    for (const std::size_t width : {1U, 3U, 8U, 40U, 57U}) {
      const glia::image picture = scrambled(height, width);
      for (const std::size_t high : {1U, 2U, 9U, 23U, 40U, 90U}) {
        for (const std::size_t wide : {1U, 5U, 40U, 71U}) {
          const std::size_t top = high / 2;
          const std::size_t right = wide - wide / 3;
          const glia::image whole = glia::resize(picture, high, wide);
          const glia::image part = glia::detail::resize_part(picture, high, wide, {top, high - top},
                                                             {wide - right, right});
          REQUIRE(part.height == high - top);
          bool same = true;
          for (std::size_t y = 0; y < part.height; ++y) {
            same = same && std::equal(part.pixels.data() + y * right * 3,
                                      part.pixels.data() + (y + 1) * right * 3,
                                      whole.pixels.data() + ((top + y) * wide + wide - right) * 3);
          }
          REQUIRE(same);
        }
      }
    }
  }
}

TEST_CASE("long pictures are resized as others are") {
  // A step down the middle: what is cropped is all there is to see.
  glia::image tall = glia::filled_image(20'000, 1, {10, 20, 30});
  std::fill(tall.pixels.begin() + 30'000, tall.pixels.end(), std::uint8_t{200});
  const glia::image middle = glia::resize_and_crop(tall, 4, 4);
  CHECK(middle.pixels[0] == 34);  // by hand: centers 3/8 above the step, weights 7/8 and 1/8
  CHECK(middle.pixels.back() == 179);
  const glia::image small = glia::resize(tall, 2, 2);
  // A seventh of each half's triangle reaches into the other half.
  CHECK(difference(small, {2, 2, {37, 46, 54, 37, 46, 54, 173, 174, 176, 173, 174, 176}}) <= 1);
  const glia::image once = glia::resize(glia::filled_image(100'000, 3, {7, 8, 9}), 1, 2);
  CHECK(once == glia::filled_image(1, 2, {7, 8, 9}));
}

TEST_CASE("errors of resizing say what was expected") {
  CHECK(contains(message_of<glia::shape_error>([] { (void)glia::resize({}, 2, 2); }),
                 "resize: expected an image (H, W, 3) of one or more pixels, got 0 bytes"));
  // Extents whose product is 0 where it overflows.
  CHECK(contains(message_of<glia::shape_error>([] {
                   (void)glia::resize({std::size_t{1} << 32, std::size_t{1} << 32, {}}, 2, 2);
                 }),
                 "got 0 bytes for the height 4294967296 and the width 4294967296"));
  CHECK(contains(message_of<glia::value_error>([] { (void)glia::resize(scrambled(2, 2), 0, 2); }),
                 "resize: expected a height and a width of at least 1, got 0 x 2"));
}

TEST_CASE("pictures are put into a grid of frames") {
  const std::vector<glia::framed_image> cells{{glia::filled_image(2, 2, {1, 1, 1}), {10, 0, 0}},
                                              {glia::filled_image(2, 1, {2, 2, 2}), {20, 0, 0}},
                                              {glia::filled_image(1, 2, {3, 3, 3}), {30, 0, 0}}};
  const glia::image grid =
      glia::image_grid(cells, {.columns = 2, .border = 1, .gap = 1, .background = {9, 9, 9}});
  CHECK(grid.height == 11);
  CHECK(grid.width == 11);
  std::string red;
  for (std::size_t i = 0; i < grid.pixels.size(); i += 3) {
    const int value = grid.pixels[i];
    red += value >= 10 ? static_cast<char>('a' + value / 10 - 1) : static_cast<char>('0' + value);
  }
  CHECK(red ==
        "99999999999"
        "9aaaa9bbb99"
        "9a11a9b2b99"
        "9a11a9b2b99"
        "9aaaa9bbb99"
        "99999999999"
        "9cccc999999"
        "9c33c999999"
        "9cccc999999"
        "99999999999"
        "99999999999");
  CHECK_THROWS_AS((void)glia::image_grid({}), glia::value_error);
}
