#pragma once

#include <filesystem>
#include <glia/image.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "demo.hpp"

/// Says once and for all what to fetch, where either the photos or the weights are missing.
inline void require_downloads(bool demo, const std::filesystem::path& data,
                              const std::filesystem::path& weights) {
  if (demo || (std::filesystem::exists(data) && std::filesystem::exists(weights))) {
    return;
  }
  throw glia::data_error(
      glia::text(std::filesystem::exists(data) ? "" : "no photos in " + data.string() + "; ",
                 std::filesystem::exists(weights) ? "" : "no weights in " + weights.string() + "; ",
                 R"(what the example needs:
  photos   a folder with the folders daisy, dandelion, rose, sunflower and tulip, as Kaggle's
           alxmamaev/flowers-recognition has them, or roses, sunflowers, tulips, as TensorFlow's
           download.tensorflow.org/example_images/flower_photos.tgz has: --data FOLDER
  weights  torchvision's download.pytorch.org/models/mobilenet_v2-b0353104.pth as safetensors
           (with PyTorch: safetensors.torch.save_file(torch.load("x.pth"), "x.safetensors")):
           --weights FILE
--demo needs neither.)"));
}

/// The photos, or the drawings that stand in for them in a demonstration.
inline glia::image_folder photos_of(bool demo, const std::filesystem::path& data,
                                    const std::filesystem::path& output,
                                    const std::vector<std::string>& names, bool skip_broken) {
  std::filesystem::create_directories(output);
  if (demo) {
    draw_flowers(output / "demo", names, 60, 96);
  }
  const glia::image_folder folder(demo ? output / "demo" : data,
                                  {.classes = names, .skip_broken = skip_broken});
  for (const glia::skipped_file& file : folder.skipped()) {
    std::cout << "left out: " << file.reason << '\n';
  }
  return folder;
}

/// The files' classes.
inline std::vector<std::int32_t> labels_of(const std::vector<glia::image_file>& files) {
  std::vector<std::int32_t> labels;
  for (const glia::image_file& file : files) {
    labels.push_back(file.label);
  }
  return labels;
}
