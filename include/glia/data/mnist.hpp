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

/// The training and the test set of an MNIST-like collection.
struct mnist_sets {
  image_bytes train;
  image_bytes test;
};

namespace detail {

/// The first of the reader's endings under which the file exists. A folder of that name, as some
/// unpackers make one, is passed over.
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
                      ": compressed with gzip; pass glia::gzip_files{} as the reader (header "
                      "glia/compression/gzip.hpp, target glia::compression)");
  for (std::string_view ending : reader.suffixes()) {
    require_no_folder(folder / (std::string(name) + std::string(ending)));
  }
  throw data_error(text(folder.string(), ": holds neither ", tried,
                        "; expected the four files of MNIST's names, as Debian's "
                        "dataset-fashion-mnist has them, too"));
}

template <file_reader Reader>
[[nodiscard]] image_bytes load_labelled(const std::filesystem::path& folder,
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

/// Reads MNIST, or another collection in its four files, from a folder: images as bytes of shape
/// (H, W), labels 0 to 255. `glia::gzip_files{}` as the reader also reads the compressed files.
///
/// Throws `data_error`, naming the file, for files that are missing, cut short, of another format,
/// larger than allowed or disagree in their counts or image sizes.
template <file_reader Reader = plain_files>
[[nodiscard]] mnist_sets load_mnist(const std::filesystem::path& folder, const Reader& reader = {},
                                    const idx_options& options = {}) {
  require<data_error>(std::filesystem::is_directory(folder), folder.string(),
                      ": no such folder; expected one with the four MNIST files");
  mnist_sets sets{detail::load_labelled(folder, "train", reader, options),
                  detail::load_labelled(folder, "t10k", reader, options)};
  require<data_error>(sets.train.input_shape() == sets.test.input_shape(), folder.string(),
                      ": training images are ", sets.train.input_shape(), ", test images ",
                      sets.test.input_shape());
  return sets;
}

}  // namespace glia
