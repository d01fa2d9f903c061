#pragma once

#include <cstdint>
#include <filesystem>
#include <glia/core/error.hpp>
#include <glia/data/csv.hpp>
#include <string>
#include <vector>

/// Operations of a training step of ResNet-50 for one image: forward 4.1 billion multiply-adds, two
/// operations each, and twice that backward. He et al. (Deep Residual Learning for Image
/// Recognition, 2016) count 3.8; benchmarks have their strides in the 3x3 convolutions, which gives
/// 4.1.
inline constexpr double resnet50_flops = 3 * 2 * 4.1e9;

struct device {
  std::string name;
  double flops_per_second;
  double memory_bytes;
  double dollars_per_hour;
};

/// Reads a table with the columns name, images_per_second (of ResNet-50 in training),
/// flops_per_second, memory_bytes and dollars_per_hour. One of the speeds may be empty; operations
/// win where both are given.
inline std::vector<device> read_devices(const std::filesystem::path& path) {
  const glia::csv_table table =
      glia::read_csv(path, {.text_columns = {"name"}, .filling_value = 0.0F});
  const auto names = table.column("name");
  const auto images = table.column("images_per_second");
  const auto flops = table.column("flops_per_second");
  const auto memory = table.column("memory_bytes");
  const auto price = table.column("dollars_per_hour");
  std::vector<device> devices;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string& name = table.class_names("name")[static_cast<std::size_t>(names(i))];
    glia::require<glia::data_error>(images(i) >= 0 && flops(i) >= 0 && images(i) + flops(i) > 0,
                                    path.string(), ": '", name,
                                    "': expected images_per_second or flops_per_second above 0");
    glia::require<glia::data_error>(memory(i) > 0 && price(i) >= 0, path.string(), ": '", name,
                                    "': expected memory_bytes above 0 and dollars_per_hour");
    devices.push_back(
        {name, flops(i) > 0 ? flops(i) : images(i) * resnet50_flops, memory(i), price(i)});
  }
  return devices;
}
