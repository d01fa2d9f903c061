#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/random.hpp>
#include <glia/core/shape.hpp>
#include <glia/core/xtensor.hpp>
#include <glia/io/npy.hpp>
#include <numbers>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Clips as what a network said of their frames (N, T, C), and their classes, counted from 0.
struct clip_features {
  xt::xarray<float> frames;
  std::vector<int> labels;

  [[nodiscard]] std::size_t size() const { return labels.size(); }
};

/// Clips to train with and to judge by, and the names of the classes.
struct split_features {
  clip_features train, test;
  std::vector<std::string> classes;
};

/// Each frame's features v as sign(v) sqrt(|v| / sum |v|), times the square root of how many there
/// are, so that they are 1 in the mean: no single one outweighs all others. Perronnin, Sánchez and
/// Mensink, "Improving the Fisher kernel for large-scale image classification", ECCV 2010.
inline void normalize_frames(xt::xarray<float>& frames) {
  const std::size_t features = frames.shape().back();
  for (auto frame = frames.begin(); frame != frames.end();
       frame += static_cast<std::ptrdiff_t>(features)) {
    const auto end = frame + static_cast<std::ptrdiff_t>(features);
    double sum = 0;
    std::for_each(frame, end, [&](float v) { sum += std::abs(static_cast<double>(v)); });
    const double scale = sum == 0 ? 0 : static_cast<double>(features) / sum;
    std::transform(frame, end, frame, [&](float v) {
      return static_cast<float>(std::copysign(std::sqrt(std::abs(v) * scale), v));
    });
  }
}

/// The names in a file of lines "3  Archery", by their numbers less 1.
[[nodiscard]] inline std::vector<std::string> read_class_names(const std::filesystem::path& path) {
  std::ifstream file(path);
  glia::require<glia::data_error>(file.is_open(), path.string(), ": cannot be opened for reading");
  std::vector<std::string> names;
  std::size_t number = 0;
  for (std::string name; file >> number >> name;) {
    glia::require<glia::data_error>(number == names.size() + 1, path.string(), ": expected class ",
                                    names.size() + 1, ", got ", number);
    names.push_back(name);
  }
  return names;
}

/// Reads a folder of features_*.npy (N, T, C), labels_u8.npy (N), classes from 1, split_u8.npy (N),
/// 1 to train with and 2 to judge by, and actions.txt, the classes' names. Classes in
/// `left_out` are skipped, and the remaining classes are numbered anew.
[[nodiscard]] inline split_features read_features(const std::filesystem::path& folder,
                                                  const std::vector<int>& left_out) {
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    file = name.starts_with("features") && name.ends_with(".npy") ? entry.path() : file;
  }
  glia::require<glia::data_error>(!file.empty(), folder.string(), ": has no features*.npy");
  const auto features = glia::read_npy<float>(file);
  const auto labels = glia::read_npy<int>(folder / "labels_u8.npy");
  const auto split = glia::read_npy<int>(folder / "split_u8.npy");
  const std::vector<std::string> names = read_class_names(folder / "actions.txt");
  glia::require<glia::data_error>(
      features.dimension() == 3 && labels.dimension() == 1 && split.dimension() == 1 &&
          labels.size() == features.shape()[0] && split.size() == labels.size(),
      folder.string(), ": expected features (N, T, C) with N labels and N parts of the split");

  std::vector<int> number_of(names.size() + 1, -1);
  split_features result;
  for (int label = 1; label <= static_cast<int>(names.size()); ++label) {
    const bool present = std::find(labels.begin(), labels.end(), label) != labels.end();
    if (present && std::find(left_out.begin(), left_out.end(), label) == left_out.end()) {
      number_of[static_cast<std::size_t>(label)] = static_cast<int>(result.classes.size());
      result.classes.push_back(names[static_cast<std::size_t>(label) - 1]);
    }
  }
  const std::size_t clip_size = features.size() / labels.size();
  const auto take = [&](int part, clip_features& destination) {
    std::vector<float> values;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const int label = labels(n);
      glia::require<glia::data_error>(label >= 1 && label < static_cast<int>(number_of.size()),
                                      folder.string(), ": clip ", n, " has the class ", label,
                                      ", of which actions.txt has no name");
      if (split(n) == part && number_of[static_cast<std::size_t>(label)] >= 0) {
        destination.labels.push_back(number_of[static_cast<std::size_t>(label)]);
        values.insert(values.end(), features.data() + n * clip_size,
                      features.data() + (n + 1) * clip_size);
      }
    }
    destination.frames =
        xt::zeros<float>({destination.size(), features.shape()[1], features.shape()[2]});
    std::copy(values.begin(), values.end(), destination.frames.begin());
  };
  take(1, result.train);
  take(2, result.test);
  glia::require<glia::data_error>(result.train.size() > 0 && result.test.size() > 0,
                                  folder.string(), ": no clips are left to train with or to judge");
  return result;
}

/// Clips that change from one state to another, which is what two classes each differ in: what the
/// one begins with, the other ends with. All of their frames together tell nothing of that.
[[nodiscard]] inline split_features draw_features(std::uint64_t seed) {
  constexpr std::size_t pairs = 3;
  constexpr std::size_t steps = 12;
  constexpr std::size_t features = 16;
  glia::random_stream random({.seed = seed});
  std::vector<float> states(2 * pairs * features);
  std::generate(states.begin(), states.end(), [&] { return static_cast<float>(random.normal()); });
  split_features result;
  const auto draw = [&](std::size_t count, clip_features& destination) {
    destination.frames = xt::zeros<float>({count, steps, features});
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t label = n % (2 * pairs);
      const float* first = states.data() + (label - label % 2) * features;
      const float* second = first + features;
      destination.labels.push_back(static_cast<int>(label));
      for (std::size_t t = 0; t < steps; ++t) {
        const double way = (0.5 + static_cast<double>(t)) / steps;
        const auto share = static_cast<float>(label % 2 == 0 ? way : 1 - way);
        for (std::size_t i = 0; i < features; ++i) {
          destination.frames(n, t, i) =
              (1 - share) * first[i] + share * second[i] + static_cast<float>(random.normal());
        }
      }
    }
  };
  draw(300, result.train);
  draw(120, result.test);
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const char name = static_cast<char>('A' + pair);
    result.classes.insert(result.classes.end(),
                          {std::string("to") + name, std::string("from") + name});
  }
  return result;
}
