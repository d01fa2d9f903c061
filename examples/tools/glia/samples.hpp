#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <glia/data/csv.hpp>
#include <glia/data/csv_cells.hpp>
#include <glia/image/read_image.hpp>
#include <glia/image/resize.hpp>
#include <glia/io/npy.hpp>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../../program.hpp"
#include "command.hpp"
#include "network.hpp"

/// Samples in rows, each with a name.
struct samples {
  std::vector<std::string> names;
  std::vector<float> numbers;
  bool incomplete = false;  ///< Whether some images could not be read.
};

/// Where samples come from: image files, a table, or an array.
struct sample_source {
  std::vector<std::string> pictures;
  std::filesystem::path csv, npy;
  bool header = false;
  std::vector<std::string> skipped{};  ///< Columns of the table that do not belong to the samples.
  info_options info;

  [[nodiscard]] bool is_empty() const { return pictures.empty() && csv.empty() && npy.empty(); }
};

inline void add_sample_options(CLI::App& command, sample_source& source) {
  auto* const pictures =
      command.add_option("pictures", source.pictures, "JPEG and PNG files, one sample each")
          ->type_name("FILE");
  auto* const csv = command
                        .add_option("--csv", source.csv,
                                    "Table with one sample in each line, separated by commas")
                        ->type_name("FILE");
  auto* const npy =
      command.add_option("--npy", source.npy, "Array of NumPy (N, ...) with N samples")
          ->type_name("FILE");
  command.add_flag("--header", source.header, "The first line of the table has the columns' names");
  pictures->excludes(csv, npy);
  csv->excludes(npy);
  command
      .add_option("--classes", source.info.classes, "File with the name of one class in each line")
      ->type_name("FILE");
  command
      .add_option("--mean", source.info.mean,
                  "Subtracted from the colors in [0, 1]: one number, or red, green and blue")
      ->expected(1, 3);
  command
      .add_option("--std", source.info.std,
                  "Divisor of the colors: one number, or red, green and blue")
      ->expected(1, 3)
      ->check(CLI::Validator(positive_float, ""));
  command.add_flag("--crop", source.info.crop,
                   "Crop pictures to the network's proportions instead of stretching them");
}

/// Converts images to samples of a network: (H, W, C) or, with one color, (H, W) or H W numbers.
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
        ", which are not pictures of one or three colors; use --csv, --npy or --stdin");
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

/// Returns the names of the columns of a table: those in its first line or, without a header, "0",
/// "1" and so on.
[[nodiscard]] inline std::vector<std::string> column_names(const std::filesystem::path& path,
                                                           bool header) {
  std::ifstream file(path);
  std::string line;
  glia::require<glia::data_error>(static_cast<bool>(std::getline(file, line)), path.string(),
                                  ": the file cannot be read or is empty");
  std::vector<std::string> names;
  glia::detail::csv_cells cells(line, ',', path.string());
  do {
    const std::string name(cells.next());
    names.push_back(header ? name : std::to_string(names.size()));
  } while (!cells.line_ended());
  return names;
}

/// Reads the samples in the lines of a table.
[[nodiscard]] inline samples read_table(const sample_source& source, std::size_t size) {
  std::vector<std::string> inputs;
  if (!source.skipped.empty()) {
    inputs = column_names(source.csv, source.header);
    for (const std::string& name : source.skipped) {
      glia::require<glia::data_error>(std::find(inputs.begin(), inputs.end(), name) != inputs.end(),
                                      source.csv.string(), ": has no column '", name, "'",
                                      source.header ? ""
                                                    : "; without --header, columns are "
                                                      "numbers from 0");
    }
    std::erase_if(inputs, [&](const std::string& name) {
      return std::find(source.skipped.begin(), source.skipped.end(), name) != source.skipped.end();
    });
  }
  const auto table = glia::read_csv(source.csv, {.header = source.header, .columns = inputs});
  const std::vector<std::string>& columns = table.names();
  glia::require<glia::data_error>(columns.size() == size, source.csv.string(), ": has ",
                                  columns.size(), " columns with inputs; the network takes ", size,
                                  " numbers");
  samples result;
  const xt::xarray<float> rows = table.columns(columns);
  result.numbers.assign(rows.begin(), rows.end());
  for (std::size_t row = 0; row < table.rows(); ++row) {
    result.names.push_back(std::to_string(row + 1));
  }
  return result;
}

/// Reads the samples of an array (N, ...sample), or of an array with the shape of one sample.
[[nodiscard]] inline samples read_array(const std::filesystem::path& path,
                                        const glia::shape& sample) {
  const xt::xarray<float> x = glia::read_npy(path);
  const std::vector<std::size_t> extents(x.shape().begin(), x.shape().end());
  const std::vector<std::size_t> expected_extents(sample.begin(), sample.end());
  const bool is_single = extents == expected_extents;
  const std::vector<std::size_t> rest(extents.begin() + (extents.empty() ? 0 : 1), extents.end());
  glia::require<glia::data_error>(
      is_single || rest == expected_extents || (rest.size() == 1 && rest[0] == sample.size()),
      path.string(), ": expected an array with the samples in the first axis and ", sample,
      " in the others, got the shape ", glia::shape(extents.begin(), extents.end()));
  samples result;
  result.numbers.assign(x.begin(), x.end());
  for (std::size_t row = 0; row < (is_single ? 1 : extents[0]); ++row) {
    result.names.push_back(std::to_string(row + 1));
  }
  return result;
}

/// Reads all samples of a source. Images that cannot be read are reported and left out.
[[nodiscard]] inline samples read_samples(const sample_source& source, const network& net,
                                          const glia::model_info& info) {
  samples result;
  if (!source.csv.empty()) {
    result = read_table(source, net.inputs());
  } else if (!source.npy.empty()) {
    result = read_array(source.npy, net.model().sample_shape());
  } else {
    const picture_reader reader(net.model().sample_shape(), info);
    for (const std::string& path : source.pictures) {
      try {
        naming_file(path, [&] { reader.read(path, result); });
      } catch (const glia::data_error& e) {
        std::cerr << "glia: " << one_line(e.what()) << '\n';
        result.incomplete = true;
      }
    }
  }
  glia::require<glia::data_error>(!result.names.empty() || result.incomplete,
                                  (source.csv.empty() ? source.npy : source.csv).string(),
                                  ": contains no samples");
  return result;
}

/// Reads the next sample from standard input: a line of numbers, separated by commas or spaces.
/// Returns false at the end.
[[nodiscard]] inline bool read_line(std::size_t line_number, std::size_t size,
                                    samples& destination) {
  std::string line;
  if (!std::getline(std::cin, line)) {
    return false;
  }
  if (line_number == 1 && line.starts_with("\xEF\xBB\xBF")) {  // the byte order mark of UTF-8
    line.erase(0, 3);
  }
  std::replace(line.begin(), line.end(), ',', ' ');
  std::istringstream words(line);
  std::size_t count = 0;
  for (float number = 0; words >> number; ++count) {
    destination.numbers.push_back(number);
  }
  glia::require<glia::data_error>(
      count == size && words.eof(), "standard input, line ", line_number, ": has ", count,
      " numbers", words.eof() ? "" : " and other text", "; the network takes ", size);
  destination.names.push_back(std::to_string(line_number));
  return true;
}
