#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "glia/core/error.hpp"
#include "glia/core/input_file.hpp"
#include "glia/data/idx.hpp"
#include "glia/data/image_bytes.hpp"

namespace glia {

/// The training set and the test set of MNIST, or of another collection in the same format.
struct mnist_sets {
  image_bytes train;  ///< Training set; MNIST has 60000 images.
  image_bytes test;   ///< Test set; MNIST has 10000 images.
};

namespace detail {

/// Appends the reader's suffixes to the file's name and returns the first path that exists. Skips
/// folders, because some unpacking programs create folders with such names.
template <file_reader Reader>
[[nodiscard]] std::filesystem::path find_file(const std::filesystem::path& folder,
                                              std::string_view name, const Reader& reader) {
  std::string tried;
  for (std::string_view ending : reader.suffixes()) {
    std::filesystem::path path = folder / (std::string(name) + std::string(ending));
    if (std::filesystem::exists(path) && !std::filesystem::is_directory(path)) {
      return path;
    }
    tried += (tried.empty() ? "" : " nor ") + path.filename().string();
  }
  const std::filesystem::path compressed = folder / (std::string(name) + ".gz");
  require<data_error>(!std::filesystem::exists(compressed), compressed.string(),
                      ": the file is compressed with gzip; pass glia::gzip_files{} as the reader "
                      "(header glia/compression/gzip.hpp, target glia::compression)");
  for (std::string_view ending : reader.suffixes()) {
    require_no_folder(folder / (std::string(name) + std::string(ending)));
  }
  throw data_error(text(folder.string(), ": the folder holds neither ", tried,
                        "; expected the four files of MNIST under their original names, as the "
                        "Debian package dataset-fashion-mnist has them, too"));
}

template <file_reader Reader>
[[nodiscard]] image_bytes load_labeled(const std::filesystem::path& folder,
                                       const std::string& prefix, const Reader& reader,
                                       const idx_options& options) {
  const auto image_path = find_file(folder, prefix + "-images-idx3-ubyte", reader);
  const auto label_path = find_file(folder, prefix + "-labels-idx1-ubyte", reader);
  idx_bytes images = read_idx(image_path, reader, options);
  idx_bytes labels = read_idx(label_path, reader, options);
  require<data_error>(images.extents.rank() == 3, image_path.string(),
                      ": expected images (N, H, W), got ", images.extents);
  require<data_error>(labels.extents.rank() == 1, label_path.string(),
                      ": expected labels (N), got ", labels.extents);
  require<data_error>(images.extents[0] == labels.extents[0], image_path.string(), " holds ",
                      images.extents[0], " images, but ", label_path.string(), " holds ",
                      labels.extents[0], " labels");
  return {sample_of(images.extents), std::move(images.values), std::move(labels.values)};
}

}  // namespace detail

/// Reads MNIST, or another collection in the same format, from a folder.
///
/// The folder holds the four files `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`,
/// `t10k-images-idx3-ubyte` and `t10k-labels-idx1-ubyte`. Fashion-MNIST, for instance, has the same
/// names. The images have the shape (H, W), for MNIST (28, 28). They are stored as bytes and
/// converted to floats in [0, 1] when a sample is read. Labels are 0 to 255. To read files
/// compressed with gzip, pass `glia::gzip_files{}` as the reader.
///
/// Throws `data_error`, with the name of the file, if a file is missing, truncated or larger than
/// allowed, or has another format. Throws `data_error`, too, if the number of images differs from
/// the number of labels, or if training and test images differ in size.
template <file_reader Reader = plain_files>
[[nodiscard]] mnist_sets load_mnist(const std::filesystem::path& folder, const Reader& reader = {},
                                    const idx_options& options = {}) {
  require<data_error>(std::filesystem::is_directory(folder), folder.string(),
                      ": no such folder; expected a folder with the four MNIST files");
  mnist_sets sets{detail::load_labeled(folder, "train", reader, options),
                  detail::load_labeled(folder, "t10k", reader, options)};
  require<data_error>(sets.train.input_shape() == sets.test.input_shape(), folder.string(),
                      ": expected training and test images of one shape, got ",
                      sets.train.input_shape(), " and ", sets.test.input_shape());
  return sets;
}

}  // namespace glia
