#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/random.hpp>
#include <glia/core/whole_file.hpp>
#include <glia/data/image_bytes.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// Rows of pixels, each with its digit, or none with one.
struct digits {
  std::size_t width = 0;             ///< pixels of a row
  std::vector<std::uint8_t> pixels;  ///< (N, width)
  std::vector<std::uint8_t> labels;  ///< (N), or empty

  [[nodiscard]] std::size_t size() const { return width == 0 ? 0 : pixels.size() / width; }
  [[nodiscard]] std::span<const std::uint8_t> row(std::size_t i) const {
    return std::span(pixels).subspan(i * width, width);
  }
};

/// Writes images as comma-separated values under a header: label,pixel0,pixel1,... or the pixels
/// alone.
inline void write_csv(const std::filesystem::path& path, const glia::image_bytes& images,
                      bool labeled) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    std::string line = labeled ? "label" : "";
    for (std::size_t i = 0; i < images.input_shape().size(); ++i) {
      line += glia::text(line.empty() ? "" : ",", "pixel", i);
    }
    out << line << '\n';
    for (std::size_t n = 0; n < images.size(); ++n) {
      line = labeled ? std::to_string(images.label(n)) : "";
      for (const std::uint8_t pixel : images.pixels(n)) {
        line += line.empty() ? "" : ",";
        line += std::to_string(pixel);
      }
      out << (line += '\n');
    }
  });
}

/// Reads the first `rows` rows of a file of `write_csv`, or all rows if the file has fewer. Throws
/// `glia::data_error`, with the number of the line, if the file has another format.
inline digits read_csv(const std::filesystem::path& path, std::size_t rows) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const bool labeled = line.starts_with("label,");
  glia::require<glia::data_error>(
      labeled || line.starts_with("pixel0"), path.string(),
      ": expected a file whose header is label,pixel0,... or pixel0,...");
  const auto columns = static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1;
  digits result{.width = columns - (labeled ? 1 : 0), .pixels = {}, .labels = {}};
  for (std::size_t n = 0; n < rows && std::getline(file, line); ++n) {
    const char* position = line.data();
    const char* const end = position + line.size();
    for (std::size_t column = 0; column < columns; ++column) {
      std::uint8_t value = 0;
      const auto [next, failure] = std::from_chars(position, end, value);
      const bool separated = column + 1 < columns ? next != end && *next == ',' : next == end;
      glia::require<glia::data_error>(failure == std::errc() && separated, path.string(), ": line ",
                                      n + 2, ": expected ", columns, " whole numbers up to 255");
      (labeled && column == 0 ? result.labels : result.pixels).push_back(value);
      position = next + (column + 1 < columns ? 1 : 0);
    }
  }
  return result;
}

/// The same with every pixel that is not 0 set to 1.
inline digits black_and_white(digits gray) {
  for (std::uint8_t& pixel : gray.pixels) {
    pixel = pixel == 0 ? 0 : 1;
  }
  return gray;
}

/// Rows to train with and to judge by.
struct row_split {
  std::vector<std::size_t> train;
  std::vector<std::size_t> held_out;
};

/// Four fifths of the rows and one fifth, in an order that the seed alone decides.
inline row_split split_rows(std::size_t rows, std::uint64_t seed) {
  std::vector<std::size_t> order(rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  glia::shuffle(std::span(order), {.seed = seed});
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(rows - rows / 5);
  return {{order.begin(), border}, {border, order.end()}};
}

/// Which rows were trained with, in their order: for other programs to train with the same.
inline void write_split(const std::filesystem::path& path, const row_split& split) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    out << "row,part\n";
    for (const std::size_t row : split.train) {
      out << row << ",train\n";
    }
    for (const std::size_t row : split.held_out) {
      out << row << ",held_out\n";
    }
  });
}
