#include <glia/image/to_image.hpp>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::to_image;
using test::contains;
using test::message_of;

TEST_CASE("values become pictures between black and white") {
  const xt::xarray<float> gray{{0, 0.5F}, {1, 2}, {-1, std::nanf("")}};
  const glia::image picture = to_image(gray);
  CHECK(picture.height == 3);
  CHECK(picture.width == 2);
  CHECK(picture.pixels == std::vector<std::uint8_t>{0, 0, 0, 128, 128, 128, 255, 255, 255,  //
                                                    255, 255, 255, 0, 0, 0, 0, 0, 0});
  xt::xarray<float> colored = xt::zeros<float>({1, 1, 3});
  colored(0, 0, 1) = 0.2F;
  colored(0, 0, 2) = 1;
  CHECK(to_image(colored).pixels == std::vector<std::uint8_t>{0, 51, 255});
  CHECK(to_image(colored, {.black = 1, .white = 0}).pixels ==
        std::vector<std::uint8_t>{255, 204, 0});
  // One sample of a batch, as it lies there.
  xt::xarray<float> batch = xt::zeros<float>({2, 2, 1, 1});
  batch(1, 0, 0, 0) = 1;
  CHECK(to_image(xt::view(batch, 1)).pixels == std::vector<std::uint8_t>{255, 255, 255, 0, 0, 0});
}

TEST_CASE("what is no picture is refused") {
  const auto refused = [](const glia::shape& s, std::size_t count) {
    const std::vector<float> values(count);
    return message_of<glia::shape_error>([&] { (void)to_image(values, s); });
  };
  CHECK(contains(refused({4}, 4), "expected values (H, W), (H, W, 1) or (H, W, 3), got (4,)"));
  CHECK(contains(refused({2, 2, 2}, 8), "to convert a batch, pass one sample at a time"));
  CHECK(contains(refused({2, 2}, 3), "3 values do not fill an image (2, 2)"));
  CHECK(contains(refused({0, 2}, 0), "do not fill"));
  const std::vector<float> pixel(1);
  CHECK_THROWS_AS(to_image(pixel, {1, 1}, {1, 1}), glia::value_error);
}
