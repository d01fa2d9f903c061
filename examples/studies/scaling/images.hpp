#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/core/whole_file.hpp>
#include <glia/data/image_bytes.hpp>
#include <utility>
#include <vector>

/// Writes images as they are in memory, for programs to read some of them without the memory that
/// unpacking all takes: it would be the most that they have, whatever is measured.
inline void write_images(const std::filesystem::path& path, const glia::image_bytes& images) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      out.put(static_cast<char>(images.label(i)));
      const auto pixels = images.pixels(i);
      out.write(reinterpret_cast<const char*>(pixels.data()),
                static_cast<std::streamsize>(pixels.size()));
    }
  });
}

/// So many of the images that `write_images` wrote; where there are fewer, again from the first.
inline glia::image_bytes read_images(const std::filesystem::path& path, const glia::shape& sample,
                                     std::size_t count) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> pixels(count * sample.size());
  std::vector<std::uint8_t> labels(count);
  const auto read = [&](std::uint8_t* destination, std::size_t bytes) {
    file.read(reinterpret_cast<char*>(destination), static_cast<std::streamsize>(bytes));
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && file.peek() == std::ifstream::traits_type::eof()) {
      file.clear();
      file.seekg(0);
    }
    read(&labels[i], 1);
    read(pixels.data() + i * sample.size(), sample.size());
    glia::require<glia::data_error>(file.good(), path.string(), ": cannot be read");
  }
  return {sample, std::move(pixels), std::move(labels)};
}
