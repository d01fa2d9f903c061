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
#include "glia/data/dataset.hpp"
#include "glia/image/image.hpp"
#include "glia/image/read_image.hpp"

namespace glia {

/// An image file and the class it belongs to, counted from 0.
struct image_file {
  std::filesystem::path path;
  std::int32_t label = 0;

  friend bool operator==(const image_file&, const image_file&) = default;
};

/// A file that was left out, and why.
struct skipped_file {
  std::filesystem::path path;
  std::string reason;
};

/// Files to train with and files held out.
struct image_split {
  std::vector<image_file> training;
  std::vector<image_file> validation;
};

/// Which files of a folder are taken, and as which classes.
struct image_folder_options {
  /// The classes in their order, each a folder of that name or of that name with an s added, as
  /// collections differ in this; other folders are left alone. Empty: every folder is a class, in
  /// the order of the names.
  std::vector<std::string> classes = {};
  /// Decodes every file (JPEG at the smallest scale) and leaves out those that cannot be read. Else
  /// a file that cannot be read is an error when it is read.
  bool skip_broken = false;
  std::size_t threads = 0;               ///< that `skip_broken` decodes on; 0: one per core
  std::size_t max_pixels = 100'000'000;  ///< of a file that `skip_broken` lets pass
};

namespace detail {

/// What a folder holds, sorted by name, symbolic links followed and hidden entries left out:
/// folders, or everything else, which includes links that lead nowhere.
[[nodiscard]] inline std::vector<std::filesystem::path> entries_of(
    const std::filesystem::path& folder, bool folders) {
  std::error_code failure;
  std::vector<std::filesystem::path> found;
  std::filesystem::directory_iterator at(folder, failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) {
    std::error_code dangling;
    if (at->path().filename().native().front() != '.' && at->is_directory(dangling) == folders) {
      found.push_back(at->path());
    }
  }
  require<data_error>(!failure, folder.string(), ": cannot be listed (", failure.message(), ")");
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return found;
}

}  // namespace detail

/// A folder with one folder of images for each class, which is how most collections of photos come.
///
///     const glia::image_folder flowers("flowers");
///     const auto [training, validation] = flowers.split(0.2);
///
/// Files are listed class by class, sorted by name. Hidden files and folders inside those of the
/// classes are not looked at; any other file counts as an image.
///
/// Throws `data_error` for a folder that is missing or holds fewer than two classes, for a class
/// without images, and for one of `classes` that has no folder.
class image_folder {
 public:
  explicit image_folder(const std::filesystem::path& folder,
                        const image_folder_options& options = {})
      : class_names_(options.classes) {
    std::error_code ignored;
    require<data_error>(std::filesystem::is_directory(folder, ignored), folder.string(),
                        ": no such folder; expected one with a folder of images for each class");
    const auto class_folders = find_classes(folder);
    require<data_error>(class_folders.size() >= 2, folder.string(),
                        ": expected at least two classes, that is folders of images, found ",
                        class_folders.size());
    for (std::size_t label = 0; label < class_folders.size(); ++label) {
      const auto paths = detail::entries_of(class_folders[label], false);
      require<data_error>(!paths.empty(), class_folders[label].string(),
                          ": a class without images; add some or remove the folder");
      for (const std::filesystem::path& path : paths) {
        files_.push_back({path, static_cast<std::int32_t>(label)});
      }
    }
    detail::require_numbered(folder.string(), files_.size());
    if (options.skip_broken) {
      leave_out_broken(options);
    }
  }

  [[nodiscard]] const std::vector<std::string>& class_names() const { return class_names_; }
  [[nodiscard]] const std::vector<image_file>& files() const { return files_; }
  [[nodiscard]] const std::vector<skipped_file>& skipped() const { return skipped_; }

  /// Holds out the first floor(fraction n) of the n files of each class for validation, as Keras's
  /// `ImageDataGenerator` does with `validation_split`; with a seed, after shuffling the files of
  /// each class. Throws `value_error` unless 0 < fraction < 1.
  [[nodiscard]] image_split split(double fraction, std::optional<std::uint64_t> seed = {}) const {
    require<value_error>(fraction > 0 && fraction < 1,
                         "image_folder: expected a fraction between 0 and 1 to hold out, got ",
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
      auto at = folders.end();
      for (const std::string& form : {name, name + "s"}) {
        if (at == folders.end()) {
          at = std::find(folders.begin(), folders.end(), folder / form);
        }
      }
      if (at == folders.end()) {
        std::string there;
        for (const std::filesystem::path& path : folders) {
          there += (there.empty() ? "" : ", ") + path.filename().string();
        }
        throw data_error(text(folder.string(), ": expected a folder ", name, " or ", name,
                              "s for the class ", name, ", found ",
                              there.empty() ? "no folders" : there));
      }
      require<data_error>(std::find(matches.begin(), matches.end(), *at) == matches.end(),
                          at->string(), ": would be two classes; expected distinct names");
      matches.push_back(*at);
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
      require<data_error>(!last || counts[label] > 0, "class ", class_names_[label],
                          ": none of its files can be read; the last of them: ", reasons[i]);
      skipped_.push_back({std::move(files_[i].path), std::move(reasons[i])});
    }
    files_ = std::move(whole);
  }

  [[nodiscard]] std::span<const image_file> files_of(std::size_t label) const {
    const auto wanted = static_cast<std::int32_t>(label);
    const auto [first, last] = std::equal_range(
        files_.begin(), files_.end(), image_file{{}, wanted},
        [](const image_file& a, const image_file& b) { return a.label < b.label; });
    return {first, last};
  }

  std::vector<std::string> class_names_;
  std::vector<image_file> files_;  // by class
  std::vector<skipped_file> skipped_;
};

}  // namespace glia
