#pragma once

#include <filesystem>
#include <glia/image.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "demo.hpp"

/// Says once and for all what to fetch, where either the photos or the weights are missing.
inline void require_downloads(const std::filesystem::path& data,
                              const std::filesystem::path& weights,
                              const std::vector<std::string>& classes) {
  if (std::filesystem::exists(data) && std::filesystem::exists(weights)) {
    return;
  }
  std::string folders;
  for (const std::string& name : classes) {
    folders += (folders.empty() ? "" : ", ") + name;
  }
  throw glia::data_error(glia::text(
      std::filesystem::exists(data) ? "" : "no photos in " + data.string() + "; ",
      std::filesystem::exists(weights) ? "" : "no weights in " + weights.string() + "; ",
      "what the example needs:\n  photos   a folder with the folders ", folders, ": --data FOLDER",
      R"(
           (flowers: Kaggle's alxmamaev/flowers-recognition, or TensorFlow's
           download.tensorflow.org/example_images/flower_photos.tgz, where an s is added to some)
  weights  torchvision's download.pytorch.org/models/mobilenet_v2-b0353104.pth as safetensors
           (with PyTorch: safetensors.torch.save_file(torch.load("x.pth"), "x.safetensors")):
           --weights FILE
--demo needs neither.)"));
}

/// The photos in a folder; says which were left out.
inline glia::image_folder photos_of(const std::filesystem::path& data,
                                    const glia::image_folder_options& options) {
  glia::image_folder folder(data, options);
  for (const glia::skipped_file& file : folder.skipped()) {
    std::cout << "left out: " << file.reason << '\n';
  }
  return folder;
}
