#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <glia/core/random.hpp>
#include <glia/image.hpp>
#include <string>
#include <vector>

/// How one of the five flowers is drawn: petals around a center.
struct flower_shape {
  double petals;     // around the center; 0: rings
  double depth;      // of the gaps between petals, 0 to 1
  double sharpness;  // of the petals' tips
  double center;     // radius, of the flower's
  glia::rgb petal;
  glia::rgb middle;
};

inline constexpr std::array<flower_shape, 5> flower_shapes{{
    {13, 0.55, 0.6, 0.26, {240, 240, 244}, {236, 190, 40}},  // daisy
    {34, 0.30, 2.0, 0.10, {245, 205, 30}, {230, 160, 20}},   // dandelion
    {0, 0.12, 1.0, 0.15, {200, 30, 60}, {140, 10, 40}},      // rose
    {21, 0.45, 1.2, 0.48, {250, 190, 20}, {80, 50, 25}},     // sunflower
    {3, 0.50, 0.8, 0.12, {225, 90, 160}, {240, 220, 120}},   // tulip
}};

/// A picture of one flower on grass, at a place, a size and an angle that the key decides.
inline glia::image draw_flower(const flower_shape& flower, std::size_t extent,
                               const glia::random_key& key) {
  glia::random_stream random(key);
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  const auto size = static_cast<double>(extent);
  const double radius = size * between(0.28, 0.45);
  const double x = size * between(0.4, 0.6);
  const double y = size * between(0.4, 0.6);
  const double angle = between(0, 6.28);
  const double light = between(0.75, 1.1);
  const double green = between(70, 150);
  glia::image picture = glia::filled_image(extent, extent, {0, 0, 0});
  for (std::size_t i = 0; i < extent * extent; ++i) {
    const std::size_t row = i / extent;
    const double dx = static_cast<double>(i % extent) - x;
    const double dy = static_cast<double>(row) - y;
    const double distance = std::hypot(dx, dy) / radius;
    const double direction = std::atan2(dy, dx) + angle;
    const double wave = flower.petals > 0 ? std::abs(std::cos(flower.petals * direction / 2))
                                          : 0.5 + 0.5 * std::cos(3 * direction);
    const double edge = 1 - flower.depth * (1 - std::pow(wave, flower.sharpness));
    const double grass = green * between(0.8, 1.2);
    std::array<double, 3> color{grass * 0.45, grass, grass * 0.3};
    if (distance < edge) {
      const glia::rgb& base = distance < flower.center ? flower.middle : flower.petal;
      const double rings = flower.petals > 0 ? 0 : 0.35 * std::sin(14 * distance + 2 * direction);
      const double shade = light * (1 - 0.25 * distance + rings) * between(0.95, 1.05);
      std::transform(base.begin(), base.end(), color.begin(),
                     [&](std::uint8_t channel) { return channel * shade; });
    }
    for (std::size_t c = 0; c < 3; ++c) {
      picture.pixels[3 * i + c] = static_cast<std::uint8_t>(std::clamp(color[c], 0.0, 255.0));
    }
  }
  return picture;
}

/// Draws `count` pictures of each flower, extent x extent, into a folder for each name in `folder`,
/// which it gives back.
inline std::filesystem::path draw_flowers(const std::filesystem::path& folder,
                                          const std::vector<std::string>& names, std::size_t count,
                                          std::size_t extent) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    std::filesystem::create_directories(folder / names[k]);
    for (std::size_t i = 0; i < count; ++i) {
      const auto stream = static_cast<std::uint32_t>(k * count + i);
      glia::write_png(folder / names[k] / glia::text(100 + i, ".png"),
                      draw_flower(flower_shapes[k], extent, {.stream = stream}));
    }
  }
  return folder;
}
