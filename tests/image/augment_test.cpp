#include <glia/image/augment.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"

using glia::augment;
using test::contains;
using test::difference;
using test::message_of;
using test::scrambled;

namespace {

glia::random_key key(std::uint64_t seed) { return {.seed = seed}; }

std::string error_of(const glia::augmentation& options) {
  return message_of<glia::value_error>([&] { (void)augment(scrambled(2, 2), options, {}); });
}

/// The brightest pixel's place.
std::pair<std::size_t, std::size_t> brightest(const glia::image& picture) {
  const auto index = static_cast<std::size_t>(
      std::max_element(picture.pixels.begin(), picture.pixels.end()) - picture.pixels.begin());
  return {index / 3 / picture.width, index / 3 % picture.width};
}

/// Black but for one white pixel.
glia::image spot(std::size_t extent, std::size_t y, std::size_t x) {
  glia::image picture = glia::filled_image(extent, extent, {});
  std::fill_n(picture.pixels.begin() + static_cast<std::ptrdiff_t>((y * extent + x) * 3), 3,
              std::uint8_t{255});
  return picture;
}

/// The angle, in degrees counter-clockwise from the right, under which a pixel is seen from the
/// middle of a square picture.
double angle_of(std::pair<std::size_t, std::size_t> place, std::size_t extent) {
  const double middle = (static_cast<double>(extent) - 1) / 2;
  return std::atan2(middle - static_cast<double>(place.first),
                    static_cast<double>(place.second) - middle) *
         180 / 3.14159265358979;
}

}  // namespace

TEST_CASE("augmentation that is off changes nothing") {
  const glia::image picture = scrambled(7, 9);
  CHECK_FALSE(glia::augmentation{}.varies());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(augment(picture, {}, key(seed)) == picture);
  }
}

TEST_CASE("augmentation depends on the key alone") {
  const glia::image picture = scrambled(20, 30);
  const glia::augmentation options{.horizontal_flip = 0.5,
                                   .rotation = 20,
                                   .zoom = {0.8, 1.2},
                                   .shift = 0.1,
                                   .saturation = {0.5, 1.5},
                                   .brightness = {0.7, 1.3}};
  CHECK(options.varies());
  const glia::image once = augment(picture, options, {.seed = 3, .stream = 2, .step = 1});
  CHECK(augment(picture, options, {.seed = 3, .stream = 2, .step = 1}) == once);
  CHECK(difference(augment(picture, options, {.seed = 4, .stream = 2, .step = 1}), once) > 0);
  CHECK(difference(augment(picture, options, {.seed = 3, .stream = 3, .step = 1}), once) > 0);
  CHECK(difference(augment(picture, options, {.seed = 3, .stream = 2, .step = 2}), once) > 0);
}

TEST_CASE("pictures are mirrored with the probability asked for") {
  const glia::image picture = scrambled(3, 5);
  const glia::image mirrored = augment(picture, {.horizontal_flip = 1}, {});
  for (std::size_t y = 0; y < 3; ++y) {
    for (std::size_t x = 0; x < 5; ++x) {
      for (std::size_t c = 0; c < 3; ++c) {
        CHECK(mirrored.pixels[(y * 5 + x) * 3 + c] == picture.pixels[(y * 5 + 4 - x) * 3 + c]);
      }
    }
  }
  int count = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    count += augment(picture, {.horizontal_flip = 0.3}, key(seed)) == mirrored ? 1 : 0;
  }
  CHECK(std::abs(count - 300) < 60);  // four standard deviations
}

TEST_CASE("pictures are rotated within the range, about the middle") {
  const glia::image right = spot(41, 20, 38);
  double minimum = 0;
  double maximum = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto place = brightest(augment(right, {.rotation = 30}, key(seed)));
    const double angle = angle_of(place, 41);
    minimum = std::min(minimum, angle);
    maximum = std::max(maximum, angle);
    // The one draw that decides it is the second.
    glia::random_stream random(key(seed));
    (void)random.uniform();
    REQUIRE(std::abs(angle - (random.uniform() * 60 - 30)) < 4);
  }
  CHECK(minimum < -25);
  CHECK(minimum > -33);
  CHECK(maximum > 25);
  CHECK(maximum < 33);
}

TEST_CASE("pictures are zoomed and shifted") {
  // 8 right of the middle becomes 16 right of it, and 4.
  CHECK(brightest(augment(spot(41, 20, 28), {.zoom = {2, 2}}, {})) ==
        std::pair<std::size_t, std::size_t>{20, 36});
  CHECK(brightest(augment(spot(41, 20, 28), {.zoom = {0.5, 0.5}}, {})) ==
        std::pair<std::size_t, std::size_t>{20, 24});
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto place = brightest(augment(spot(41, 20, 20), {.shift = 0.25}, key(seed)));
    glia::random_stream random(key(seed));
    for (int i = 0; i < 3; ++i) {
      (void)random.uniform();
    }
    const double shift_y = (random.uniform() - 0.5) * 0.5 * 41;
    const double shift_x = (random.uniform() - 0.5) * 0.5 * 41;
    REQUIRE(std::abs(static_cast<double>(place.first) - 20 - shift_y) <= 0.51);
    REQUIRE(std::abs(static_cast<double>(place.second) - 20 - shift_x) <= 0.51);
  }
  // What comes in from beyond an edge repeats it.
  const glia::image plain = glia::filled_image(9, 9, {30, 60, 90});
  CHECK(augment(plain, {.rotation = 180, .zoom = {0.3, 3}, .shift = 1}, key(5)) == plain);
}

TEST_CASE("bilinear samples are exact to a gray level") {
  const glia::image picture{2, 2, {0, 0, 0, 100, 100, 100, 200, 200, 200, 100, 100, 100}};
  // Zoomed by 2 about the middle, the pixels lie a quarter from the corners' centers inwards.
  const glia::image read = augment(picture, {.zoom = {2, 2}}, {});
  // (9 * 0 + 3 * 100 + 3 * 200 + 100) / 16 = 62.5, then 87.5, 137.5 and 112.5.
  CHECK(difference(read, {2, 2, {63, 63, 63, 88, 88, 88, 138, 138, 138, 113, 113, 113}}) <= 1);
}

TEST_CASE("bilinear samples of the sharpest noise are those of floats, to a gray level") {
  constexpr std::size_t extent = 24;
  glia::random_stream random({.seed = 7});
  for (int trial = 0; trial < 40; ++trial) {
    glia::image picture = glia::filled_image(extent, extent, {});
    for (std::uint8_t& level : picture.pixels) {
      level = random.uniform() < 0.5 ? 0 : 255;
    }
    const auto draw = [&](double size) { return (random.uniform() * 2 - 1) * size; };
    const glia::detail::affine_map map{.yy = 1 + draw(0.3),
                                       .yx = draw(0.3),
                                       .y0 = draw(5),
                                       .xy = draw(0.3),
                                       .xx = 1 + draw(0.3),
                                       .x0 = draw(5)};
    glia::image expected = picture;
    for (std::size_t y = 0; y < extent; ++y) {
      for (std::size_t x = 0; x < extent; ++x) {
        const auto coordinate = [&](double step_y, double step_x, double first) {
          const double place =
              step_y * static_cast<double>(y) + step_x * static_cast<double>(x) + first;
          return std::clamp(place, 0.0, static_cast<double>(extent - 1));
        };
        const double v = coordinate(map.yy, map.yx, map.y0);
        const double u = coordinate(map.xy, map.xx, map.x0);
        const auto top = static_cast<std::size_t>(v);
        const auto left = static_cast<std::size_t>(u);
        const std::size_t bottom = std::min(top + 1, extent - 1);
        const std::size_t right = std::min(left + 1, extent - 1);
        for (std::size_t c = 0; c < 3; ++c) {
          const auto level = [&](std::size_t row, std::size_t column) {
            return static_cast<double>(picture.pixels[(row * extent + column) * 3 + c]);
          };
          const double weight_y = v - static_cast<double>(top);
          const double weight_x = u - static_cast<double>(left);
          const double upper = level(top, left) * (1 - weight_x) + level(top, right) * weight_x;
          const double lower =
              level(bottom, left) * (1 - weight_x) + level(bottom, right) * weight_x;
          expected.pixels[(y * extent + x) * 3 + c] =
              static_cast<std::uint8_t>(std::lround(upper * (1 - weight_y) + lower * weight_y));
        }
      }
    }
    CHECK(difference(glia::detail::warp(picture, map), expected) <= 1);
  }
}

TEST_CASE("saturation and brightness are factors") {
  const glia::image picture{1, 2, {200, 100, 50, 250, 250, 250}};
  // Luma 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2.
  CHECK(augment(picture, {.saturation = {0, 0}}, {}).pixels ==
        test::byte_vector{124, 124, 124, 250, 250, 250});
  CHECK(augment(picture, {.saturation = {0.5, 0.5}}, {}).pixels ==
        test::byte_vector{162, 112, 87, 250, 250, 250});
  CHECK(augment(picture, {.brightness = {0.5, 0.5}}, {}).pixels ==
        test::byte_vector{100, 50, 25, 125, 125, 125});
  CHECK(augment(picture, {.saturation = {2, 2}, .brightness = {2, 2}}, {}).pixels ==
        test::byte_vector{255, 152, 0, 255, 255, 255});
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const int value = augment(picture, {.brightness = {0.4, 0.6}}, key(seed)).pixels[0];
    REQUIRE(value >= 80);
    REQUIRE(value <= 120);
  }
}

TEST_CASE("turning one change on leaves the draws of the others as they were") {
  const glia::image plain = glia::filled_image(4, 4, {200, 100, 50});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(
        augment(plain, {.brightness = {0.5, 1}}, key(seed)) ==
        augment(plain, {.horizontal_flip = 0.5, .rotation = 9, .brightness = {0.5, 1}}, key(seed)));
  }
}

TEST_CASE("augmentation outside its ranges is refused") {
  CHECK(error_of({.horizontal_flip = 1.5}) ==
        "augmentation: expected horizontal_flip in [0, 1], got 1.5");
  CHECK(contains(error_of({.rotation = -1}), "expected rotation in [0, 180], got -1"));
  CHECK(contains(error_of({.shift = std::nan("")}), "expected shift in [0, 1], got "));
  CHECK(contains(error_of({.zoom = {0, 1}}), "zoom with 0.01 <= low <= high <= 100, got {0, 1}"));
  CHECK(contains(error_of({.zoom = {1.2, 0.8}}), "zoom with 0.01 <= low <= high <= 100"));
  CHECK(contains(error_of({.saturation = {-1, 1}}), "saturation with 0 <= low <= high <= 100"));
  CHECK(contains(error_of({.brightness = {0, INFINITY}}), "brightness with 0 <= low <= high"));
}
