#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/utf8_path.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/image_folder.hpp"

namespace glia {

/// An image file with the file of its mask.
struct segmentation_file {
  std::filesystem::path image;  ///< Path of the image.
  std::filesystem::path mask;   ///< Path of the mask, which has the size of the image.

  friend bool operator==(const segmentation_file&, const segmentation_file&) = default;
};

/// The files of two folders, divided into files for training and files for validation.
struct segmentation_split {
  std::vector<segmentation_file> training;    ///< Files for training.
  std::vector<segmentation_file> validation;  ///< Files for validation.
};

/// Lists the files of a collection for segmentation: a folder of images and a folder of masks. A
/// mask has the name of its image, with another suffix or the same.
///
///     const glia::segmentation_folder pets("pets/images", "pets/masks");
///     const auto [training, validation] = pets.split(0.2, 1);
///
/// The files are sorted by name. Hidden files and inner folders are ignored; any other file counts
/// as an image or a mask. Pass the files to `segmentation_dataset` to read them.
///
/// Throws `data_error` if a folder is missing, if there are no images, if an image has no mask or a
/// mask no image, or if two files of a folder differ only in their suffixes.
class segmentation_folder {
 public:
  /// Lists the files of two folders.
  segmentation_folder(const std::filesystem::path& images, const std::filesystem::path& masks) {
    const files_by_name image_files = files_of(images, "images");
    const files_by_name mask_files = files_of(masks, "masks");
    require<data_error>(!image_files.empty(), images.string(),
                        ": the folder has no images; add images, or use another folder");
    require_partners(image_files, mask_files, masks, "mask", "image");
    require_partners(mask_files, image_files, images, "image", "mask");
    files_.reserve(image_files.size());
    for (const auto& [name, path] : image_files) {
      files_.push_back({path, mask_files.at(name)});
    }
    detail::require_numbered(images.string(), files_.size());
  }

  /// The files of images and masks, sorted by name.
  [[nodiscard]] const std::vector<segmentation_file>& files() const { return files_; }

  /// Divides the files into files for training and files for validation. Of n files, the first
  /// floor(fraction n) are for validation. With a seed, the files are shuffled first.
  ///
  /// Throws `value_error` if the fraction is not between 0 and 1.
  [[nodiscard]] segmentation_split split(double fraction,
                                         std::optional<std::uint64_t> seed = {}) const {
    require<value_error>(
        fraction > 0 && fraction < 1,
        "segmentation_folder: expected a fraction between 0 and 1 for validation, got ", fraction);
    std::vector<segmentation_file> files = files_;
    if (seed) {
      shuffle(std::span(files), {.seed = *seed});
    }
    const auto first_training =
        files.begin() + static_cast<std::ptrdiff_t>(fraction * static_cast<double>(files.size()));
    return {.training = {first_training, files.end()},
            .validation = {files.begin(), first_training}};
  }

 private:
  using files_by_name = std::map<std::string, std::filesystem::path>;

  /// Returns the files of a folder by their names without suffixes.
  [[nodiscard]] static files_by_name files_of(const std::filesystem::path& folder,
                                              const std::string& contents) {
    std::error_code ignored;
    require<data_error>(std::filesystem::is_directory(folder, ignored), folder.string(),
                        ": no such folder; expected a folder of ", contents);
    files_by_name result;
    for (const std::filesystem::path& path : detail::entries_of(folder, false)) {
      const auto [entry, is_new] = result.emplace(path.stem().string(), path);
      require<data_error>(is_new, path.string(), ": expected one file with the name ", entry->first,
                          ", but ", entry->second.string(),
                          " has this name, too; rename or remove one of them");
    }
    return result;
  }

  /// Throws `data_error` unless each file has a partner of the same name in another folder.
  static void require_partners(const files_by_name& files, const files_by_name& partners,
                               const std::filesystem::path& folder, const std::string& partner,
                               const std::string& kind) {
    const auto alone = [&](const auto& file) { return !partners.contains(file.first); };
    const auto first = std::find_if(files.begin(), files.end(), alone);
    if (first != files.end()) {
      const auto missing = std::count_if(files.begin(), files.end(), alone);
      throw data_error(
          text(first->second.string(), ": expected a file ",
               (folder / detail::utf8_path(first->first)).string(),
               ".png, or with another suffix, which is the ", partner, ", found none",
               missing > 1 ? text(" (and none for ", missing - 1, " other files)") : "",
               "; add the ", partner, " or remove the ", kind));
    }
  }

  std::vector<segmentation_file> files_;
};

}  // namespace glia
