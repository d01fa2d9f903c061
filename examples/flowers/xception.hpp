#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <glia/glia.hpp>
#include <glia/image.hpp>
#include <glia/io/hdf5.hpp>
#include <glia/models/zoo/keras_names.hpp>
#include <glia/models/zoo/xception.hpp>
#include <iostream>
#include <string>
#include <vector>

/// Xception to its mean features, and one unit for each class; all of it is trained.
inline auto xception_network(const glia::zoo_options& options, std::size_t classes) {
  return glia::sequential{glia::xception(options), glia::dense{classes}};
}

/// What Keras trained, where a file is given; the classifier on top stays as it is.
template <class Model>
void load_xception(Model& net, const std::filesystem::path& path) {
  const glia::tensor_map tensors = glia::read_hdf5(path);
  glia::load_parameters(net, tensors, glia::keras_names(glia::xception(), tensors));
}

/// A rate that rises from 1e-5 to 4e-4 over five epochs, and falls to 0.8 of it in each epoch then.
inline glia::schedule ramped_rate(std::size_t steps_per_epoch) {
  return {"ramp to 0.0004, then x 0.8 an epoch", [steps_per_epoch](std::size_t step) {
            constexpr double start = 1e-5;
            constexpr double top = 4e-4;
            constexpr double ramp = 5;  // epochs
            const double epoch =
                std::floor(static_cast<double>(step) / static_cast<double>(steps_per_epoch));
            return epoch < ramp ? start + (top - start) * epoch / ramp
                                : start + (top - start) * std::pow(0.8, epoch - ramp);
          }};
}

/// Writes the photos to TFRecord files, and gives these.
inline std::vector<std::filesystem::path> records_of(const std::vector<glia::image_file>& photos,
                                                     const std::filesystem::path& beginning,
                                                     const std::vector<std::string>& classes,
                                                     std::uint64_t seed) {
  constexpr std::size_t photos_in_shard = 500;
  std::filesystem::create_directories(beginning.parent_path());
  const std::size_t shards = 1 + (photos.size() - 1) / photos_in_shard;
  auto files = glia::write_tfrecords(photos, beginning,
                                     {.shards = shards, .class_names = classes, .seed = seed});
  std::cout << photos.size() << " photos in " << files.size() << " files " << beginning.string()
            << "-*.tfrecord\n";
  return files;
}
