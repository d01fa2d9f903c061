#include <glia/image/overlay.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::overlay;
using test::message_of;

TEST_CASE("an overlay mixes the image with the colors of the map") {
  const glia::image picture{1, 3, {0, 0, 0, 100, 100, 100, 255, 255, 255}};
  const xt::xarray<float> map{{0, 0.5, 1}};
  CHECK(overlay(picture, map, {.opacity = 0}) == picture);
  // 0.5 is the gray level 128, slightly above the middle color (217, 100, 43).
  CHECK(overlay(picture, map, {.opacity = 1}).pixels ==
        std::vector<std::uint8_t>{23, 64, 122, 217, 101, 43, 250, 230, 110});
  const glia::image half = overlay(picture, map, {.opacity = 0.5});
  CHECK(half.pixels[0] == 12);   // 11.5
  CHECK(half.pixels[6] == 253);  // 252.5
}

TEST_CASE("an overlay enlarges the image in squares, and the map with interpolation") {
  const glia::image picture{1, 2, {10, 20, 30, 40, 50, 60}};
  const glia::image large = overlay(picture, xt::ones<float>({1, 1}), {.opacity = 0, .scale = 2});
  CHECK(large.height == 2);
  CHECK(large.width == 4);
  const std::vector<std::uint8_t> row{10, 20, 30, 10, 20, 30, 40, 50, 60, 40, 50, 60};
  std::vector<std::uint8_t> rows = row;
  rows.insert(rows.end(), row.begin(), row.end());
  CHECK(large.pixels == rows);
  const glia::image smooth =
      overlay(glia::filled_image(1, 4, {}), xt::xarray<float>{{0, 1}}, {.opacity = 1});
  CHECK(smooth.pixels[0] == 23);
  CHECK(smooth.pixels[3] > smooth.pixels[0]);
  CHECK(smooth.pixels[9] == 250);
}

TEST_CASE("what cannot be laid over an image is refused") {
  const glia::image picture = glia::filled_image(2, 2, {});
  const auto message = [&](const xt::xarray<float>& map, const glia::overlay_options& options) {
    return message_of<glia::error>([&] { static_cast<void>(overlay(picture, map, options)); });
  };
  const xt::xarray<float> map = xt::ones<float>({2, 2});
  CHECK(message(xt::ones<float>({1, 2, 2}), {}) ==
        "overlay: expected a map (H, W) of one or more values, got (1, 2, 2); pass the map of one "
        "image at a time");
  CHECK(message(map, {.opacity = 1.5}) == "overlay: expected an opacity from 0 to 1, got 1.5");
  CHECK(message(map, {.scale = 0}) == "overlay: expected a scale of at least 1, got 0");
  CHECK(test::contains(
      message_of<glia::shape_error>([&] { static_cast<void>(overlay(glia::image{}, map)); }),
      "overlay: expected an image (H, W, 3)"));
}
