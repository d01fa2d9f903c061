#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/random.hpp"
#include "glia/core/thread_pool.hpp"
#include "glia/core/utf8_path.hpp"
#include "glia/data/dataset.hpp"
#include "glia/image/image.hpp"
#include "glia/image/read_image.hpp"

namespace glia {

/// An image file with its class label.
struct image_file {
  std::filesystem::path path;  ///< Path of the file.
  std::int32_t label = 0;      ///< Class index, counted from 0.

  friend bool operator==(const image_file&, const image_file&) = default;
};

/// A file that `image_folder` skipped, with the reason.
struct skipped_file {
  std::filesystem::path path;  ///< Path of the file.
  std::string reason;          ///< Message of the error.
};

/// The files of a folder, divided into files for training and files for validation.
struct image_split {
  std::vector<image_file> training;    ///< Files for training.
  std::vector<image_file> validation;  ///< Files for validation.
};

/// Options of `image_folder`.
struct image_folder_options {
  /// Names of the classes, in the order of their labels. The folder of a class has the name of the
  /// class or its plural (the name with an s). Other folders are ignored. If the list is empty,
  /// every folder is a class, in alphabetical order.
  std::vector<std::string> class_names = {};
  /// Whether files that cannot be decoded are skipped. If true, the constructor decodes all files
  /// (JPEG at the smallest scale). If false, such a file is an error when it is read later.
  bool skip_broken = false;
  std::size_t threads = 0;  ///< Number of threads for `skip_broken`; 0: one per core.
  /// The largest image that `skip_broken` accepts, in pixels (height x width).
  std::size_t max_pixels = 100'000'000;
};

namespace detail {

/// Returns the folders within a folder, or all other entries if `folders` is false, sorted by name.
/// Symbolic links are followed; dangling links count as other entries. Hidden entries are left out.
[[nodiscard]] inline std::vector<std::filesystem::path> entries_of(
    const std::filesystem::path& folder, bool folders) {
  std::error_code failure;
  std::vector<std::filesystem::path> found;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    std::error_code dangling;
    if (entry->path().filename().string().front() != '.' &&
        entry->is_directory(dangling) == folders) {
      found.push_back(entry->path());
    }
  }
  require<data_error>(!failure, folder.string(), ": the folder cannot be read (", failure.message(),
                      ")");
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return found;
}

}  // namespace detail

/// Lists the files of an image collection: a folder that contains one folder of images for each
/// class.
///
///     const glia::image_folder flowers("flowers");
///     const auto [training, validation] = flowers.split(0.2);
///
/// The files are listed class by class, sorted by name. Hidden files and folders within a class's
/// folder are ignored. Any other file counts as an image. Pass the files to `image_dataset` to read
/// them.
///
/// Throws `data_error` if the folder is missing or holds fewer than two classes, if a class has no
/// images, or if there is no folder for one of `class_names`.
class image_folder {
 public:
  /// Lists the files of `folder`.
  explicit image_folder(const std::filesystem::path& folder,
                        const image_folder_options& options = {})
      : class_names_(options.class_names) {
    std::error_code ignored;
    require<data_error>(std::filesystem::is_directory(folder, ignored), folder.string(),
                        ": no such folder; expected a folder with one folder of images for each "
                        "class");
    const auto class_folders = find_classes(folder);
    require<data_error>(class_folders.size() >= 2, folder.string(),
                        ": expected two or more classes, each a folder of images, found ",
                        class_folders.size());
    for (std::size_t label = 0; label < class_folders.size(); ++label) {
      const auto paths = detail::entries_of(class_folders[label], false);
      require<data_error>(!paths.empty(), class_folders[label].string(),
                          ": the class has no images; add images or remove the folder");
      for (const std::filesystem::path& path : paths) {
        files_.push_back({path, static_cast<std::int32_t>(label)});
      }
    }
    detail::require_numbered(folder.string(), files_.size());
    if (options.skip_broken) {
      leave_out_broken(options);
    }
  }

  /// The names of the classes, in the order of their labels.
  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  /// The image files with their labels, class by class.
  [[nodiscard]] const std::vector<image_file>& files() const { return files_; }
  /// The files that were skipped because of `skip_broken`, with the reasons.
  [[nodiscard]] const std::vector<skipped_file>& skipped() const { return skipped_; }

  /// Divides the files of each class into files for training and files for validation.
  ///
  /// Of the n files of a class, the first floor(fraction n) are for validation, as in Keras's
  /// `ImageDataGenerator` with `validation_split`. With a seed, the files of each class are
  /// shuffled first.
  ///
  /// Throws `value_error` if the fraction is not between 0 and 1.
  [[nodiscard]] image_split split(double fraction, std::optional<std::uint64_t> seed = {}) const {
    require<value_error>(fraction > 0 && fraction < 1,
                         "image_folder: expected a fraction between 0 and 1 for validation, got ",
                         fraction);
    image_split result;
    for (std::size_t label = 0; label < class_names_.size(); ++label) {
      const auto sorted = files_of(label);
      std::vector<image_file> files(sorted.begin(), sorted.end());
      if (seed) {
        shuffle(std::span(files), {.seed = *seed, .stream = static_cast<std::uint32_t>(label)});
      }
      const auto held_out =
          static_cast<std::ptrdiff_t>(fraction * static_cast<double>(files.size()));
      result.validation.insert(result.validation.end(), files.begin(), files.begin() + held_out);
      result.training.insert(result.training.end(), files.begin() + held_out, files.end());
    }
    return result;
  }

 private:
  [[nodiscard]] std::vector<std::filesystem::path> find_classes(
      const std::filesystem::path& folder) {
    auto folders = detail::entries_of(folder, true);
    if (class_names_.empty()) {
      for (const std::filesystem::path& path : folders) {
        class_names_.push_back(path.filename().string());
      }
      return folders;
    }
    std::vector<std::filesystem::path> matches;
    for (const std::string& name : class_names_) {
      auto match = folders.end();
      for (const std::string& form : {name, name + "s"}) {
        if (match == folders.end()) {
          match = std::find(folders.begin(), folders.end(), folder / detail::utf8_path(form));
        }
      }
      if (match == folders.end()) {
        std::string folder_names;
        for (const std::filesystem::path& path : folders) {
          folder_names += (folder_names.empty() ? "" : ", ") + path.filename().string();
        }
        throw data_error(text(folder.string(), ": expected a folder ", name, " or ", name,
                              "s for the class ", name, ", found ",
                              folder_names.empty() ? "no folders" : "the folders " + folder_names));
      }
      require<data_error>(std::find(matches.begin(), matches.end(), *match) == matches.end(),
                          match->string(),
                          ": the folder belongs to two classes of class_names; use distinct names");
      matches.push_back(*match);
    }
    return matches;
  }

  void leave_out_broken(const image_folder_options& options) {
    std::vector<std::string> reasons(files_.size());
    thread_pool pool(options.threads);
    pool.parallel_for(files_.size(), [&](std::size_t i, std::size_t) {
      try {
        (void)read_image(files_[i].path,
                         {.max_pixels = options.max_pixels, .min_height = 1, .min_width = 1});
      } catch (const std::exception& e) {
        reasons[i] = e.what();
      }
    });
    std::vector<image_file> whole;
    std::vector<std::size_t> counts(class_names_.size());
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const auto label = static_cast<std::size_t>(files_[i].label);
      if (reasons[i].empty()) {
        ++counts[label];
        whole.push_back(std::move(files_[i]));
        continue;
      }
      const bool last = i + 1 == files_.size() || files_[i + 1].label != files_[i].label;
      require<data_error>(
          !last || counts[label] > 0, "class ", class_names_[label],
          ": none of the files can be read; the error of the last file: ", reasons[i]);
      skipped_.push_back({std::move(files_[i].path), std::move(reasons[i])});
    }
    files_ = std::move(whole);
  }

  [[nodiscard]] std::span<const image_file> files_of(std::size_t label) const {
    const auto class_label = static_cast<std::int32_t>(label);
    const auto [first, last] = std::equal_range(
        files_.begin(), files_.end(), image_file{{}, class_label},
        [](const image_file& a, const image_file& b) { return a.label < b.label; });
    return {first, last};
  }

  std::vector<std::string> class_names_;
  std::vector<image_file> files_;  // class by class
  std::vector<skipped_file> skipped_;
};

}  // namespace glia
