#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <glia/data/csv.hpp>
#include <glia/image/read_image.hpp>
#include <glia/image/resize.hpp>
#include <glia/onnx.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Samples in rows, and what each is called.
struct samples {
  std::vector<std::string> names;
  std::vector<float> numbers;
};

/// How pictures become a network's samples: (H, W, C) or, of one color, (H, W) or H W numbers.
class picture_reader {
 public:
  picture_reader(const glia::shape& sample, glia::model_info info) : info_(std::move(info)) {
    const std::size_t rank = sample.rank();
    channels_ = rank == 3 ? sample[2] : 1;
    height_ =
        rank == 1 ? static_cast<std::size_t>(std::sqrt(static_cast<double>(sample[0]))) : sample[0];
    width_ = rank == 1 ? height_ : sample[1];
    glia::require<glia::data_error>(
        rank <= 3 && (channels_ == 1 || channels_ == 3) &&
            height_ * width_ * channels_ == sample.size(),
        "the network takes samples ", sample,
        ", which are no pictures of one or three colors; give it numbers, by --csv or --stdin");
  }

  /// Adds the samples of one file.
  void read(const std::filesystem::path& path, samples& destination) const {
    glia::image picture = glia::read_image(path, {.min_height = height_, .min_width = width_});
    if (picture.height != height_ || picture.width != width_) {
      picture = info_.crop ? glia::resize_and_crop(picture, height_, width_)
                           : glia::resize(picture, height_, width_);
    }
    destination.names.push_back(path.string());
    for (std::size_t offset = 0; offset < picture.pixels.size(); offset += 3) {
      std::array<float, 3> color{};
      for (std::size_t c = 0; c < 3; ++c) {
        const float share = static_cast<float>(picture.pixels[offset + c]) / 255;
        color[c] = (share - info_.mean[c]) / info_.std[c];
      }
      if (channels_ == 1) {
        destination.numbers.push_back((color[0] + color[1] + color[2]) / 3);
      } else {
        destination.numbers.insert(destination.numbers.end(), color.begin(), color.end());
      }
    }
  }

 private:
  glia::model_info info_;
  std::size_t height_ = 0, width_ = 0, channels_ = 0;
};

/// A line of a table for each sample: as many numbers as one has.
inline samples read_table(const std::filesystem::path& path, std::size_t size, bool header) {
  const auto table = glia::read_csv(path, {.header = header});
  const std::vector<std::string>& columns = table.names();
  glia::require<glia::data_error>(columns.size() == size, path.string(), ": has ", columns.size(),
                                  " columns; the network takes ", size, " numbers");
  samples result;
  result.numbers.resize(table.rows() * size);
  for (std::size_t i = 0; i < size; ++i) {
    const xt::xarray<float> column = table.column(columns[i]);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      result.numbers[row * size + i] = column(row);
    }
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    result.names.push_back(std::to_string(row + 1));
  }
  return result;
}

/// The next sample of standard input: a line of numbers between commas or spaces. False at its end.
inline bool read_line(std::size_t line_number, std::size_t size, samples& destination) {
  std::string line;
  if (!std::getline(std::cin, line)) {
    return false;
  }
  if (line_number == 1 && line.starts_with("\xEF\xBB\xBF")) {  // the mark of UTF-8
    line.erase(0, 3);
  }
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream words(line);
  std::size_t count = 0;
  for (float number = 0; words >> number; ++count) {
    destination.numbers.push_back(number);
  }
  glia::require<glia::data_error>(count == size && words.eof(), "line ", line_number, ": has ",
                                  count, " numbers", words.eof() ? "" : " and other text",
                                  "; the network takes ", size);
  destination.names.push_back(std::to_string(line_number));
  return true;
}
