#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/error.hpp>
#include <glia/video/clip_dataset.hpp>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// Options of `ucf101_split`.
struct ucf101_options {
  int split = 1;               ///< Number of the official split: 1, 2 or 3.
  bool allow_missing = false;  ///< Whether missing clips are skipped; if false, they are an error.
};

/// The clips of one of UCF101's official splits.
struct ucf101_clips {
  std::vector<std::string> class_names;  ///< Names of the classes, in the order of their labels.
  std::vector<glia::clip_file> train;    ///< Clips for training.
  std::vector<glia::clip_file> test;     ///< Clips for testing.
  std::size_t missing = 0;               ///< Number of clips that were skipped.
};

/// Reads UCF101's lists of classes and clips.
class ucf101_lists {
 public:
  ucf101_lists(const std::filesystem::path& clips, const std::filesystem::path& lists,
               const ucf101_options& options)
      : clips_(clips), options_(options) {
    read_classes(lists / "classInd.txt");
    const std::string number = std::to_string(options.split) + ".txt";
    result_.train = read_clips(lists / ("trainlist0" + number), true);
    result_.test = read_clips(lists / ("testlist0" + number), false);
    glia::require<glia::data_error>(
        !result_.train.empty() || !result_.test.empty(), clips.string(),
        ": expected the folder of UCF101's clips, but it has none of the clips in the lists");
  }

  [[nodiscard]] ucf101_clips take() { return std::move(result_); }

 private:
  static constexpr std::string_view advice = "; get UCF101's lists again";

  /// Calls use(line, location) for each line that is not empty. Lines end in LF or CR LF.
  template <class Use>
  static void for_each_line(const std::filesystem::path& path, const Use& use) {
    std::error_code ignored;
    glia::require<glia::data_error>(!std::filesystem::is_directory(path, ignored), path.string(),
                                    ": is a folder; expected a file");
    std::ifstream file(path, std::ios::binary);
    glia::require<glia::data_error>(
        file.is_open(), path.string(),
        ": the file cannot be opened for reading; expected one of UCF101's lists, "
        "which are in UCF101TrainTestSplits-RecognitionTask.zip");
    std::size_t lines = 0;
    std::string line;
    for (std::size_t number = 1; std::getline(file, line); ++number) {
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) {
        line.pop_back();
      }
      if (!line.empty()) {
        ++lines;
        use(std::string_view(line), glia::text(path.string(), ", line ", number, ": "));
      }
    }
    glia::require<glia::data_error>(!file.bad(), path.string(), ": reading the file failed");
    glia::require<glia::data_error>(lines > 0, path.string(), ": the file is empty", advice);
  }

  /// Parses a positive class number. Returns 0 for any other text.
  [[nodiscard]] static std::int32_t class_number(std::string_view digits) {
    std::int32_t value = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failure == std::errc() && end == digits.data() + digits.size() && value > 0 ? value : 0;
  }

  void read_classes(const std::filesystem::path& path) {
    for_each_line(path, [&](std::string_view line, const std::string& location) {
      const std::size_t space = line.find(' ');
      const auto expected = static_cast<std::int32_t>(result_.class_names.size()) + 1;
      const std::string name(space == std::string_view::npos ? "" : line.substr(space + 1));
      glia::require<glia::data_error>(
          class_number(line.substr(0, space)) == expected && !name.empty(), location,
          "expected the class number ", expected, ", a space and its name, got \"", line, "\"",
          advice);
      glia::require<glia::data_error>(labels_.emplace(name, expected - 1).second, location,
                                      "the class ", name, " is listed twice", advice);
      result_.class_names.push_back(name);
    });
  }

  [[nodiscard]] std::vector<glia::clip_file> read_clips(const std::filesystem::path& path,
                                                        bool numbered) {
    std::vector<glia::clip_file> files;
    std::vector<std::size_t> listed(result_.class_names.size());
    for_each_line(path, [&](std::string_view line, const std::string& location) {
      const std::size_t space = line.find(' ');
      const std::string_view name = line.substr(0, space);
      const std::size_t slash = name.find('/');
      glia::require<glia::data_error>(slash != std::string_view::npos && slash + 1 < name.size() &&
                                          name.find("..") == std::string_view::npos &&
                                          (space != std::string_view::npos) == numbered,
                                      location, "expected a class, a slash and a clip",
                                      numbered ? ", a space and the number of the class" : "",
                                      ", got \"", line, "\"", advice);
      const auto label = labels_.find(std::string(name.substr(0, slash)));
      glia::require<glia::data_error>(label != labels_.end(), location, "the class ",
                                      name.substr(0, slash), " is not in classInd.txt", advice);
      glia::require<glia::data_error>(
          !numbered || class_number(line.substr(space + 1)) == label->second + 1, location,
          "expected the number ", label->second + 1, " of the class ", label->first, ", got \"",
          line.substr(space + 1), "\"", advice);
      glia::require<glia::data_error>(named_.emplace(name).second, location, name,
                                      " is listed twice, in this list or in both", advice);
      ++listed[static_cast<std::size_t>(label->second)];
      add(std::string(name), slash, label->second, location, files);
    });
    for (std::size_t label = 0; label < listed.size(); ++label) {
      glia::require<glia::data_error>(listed[label] > 0, path.string(),
                                      ": expected clips of all classes, got none of the class ",
                                      result_.class_names[label], advice);
    }
    return files;
  }

  /// Adds a clip, which is in the folder of its class or directly in the folder of all clips.
  void add(const std::string& name, std::size_t slash, std::int32_t label,
           const std::string& location, std::vector<glia::clip_file>& files) {
    const std::filesystem::path in_class = clips_ / name;
    std::error_code ignored;
    for (const std::filesystem::path& path : {in_class, clips_ / name.substr(slash + 1)}) {
      if (std::filesystem::exists(path, ignored)) {
        files.push_back({path, label});
        return;
      }
    }
    glia::require<glia::data_error>(
        options_.allow_missing, location, "the clip ", in_class.string(),
        " is missing; get UCF101's clips, or set ucf101_options::allow_missing to "
        "skip missing clips");
    ++result_.missing;
  }

  std::filesystem::path clips_;
  ucf101_options options_;
  std::map<std::string, std::int32_t> labels_;
  std::set<std::string> named_;
  ucf101_clips result_;
};

/// Reads one of the three official splits of UCF101, and returns its clips for training and for
/// testing.
///
/// `clips` is the folder of the clips, and `lists` is the folder of the official lists
/// (classInd.txt, trainlist01.txt, testlist01.txt, ...). A split never divides a group of similar
/// clips: all of them are for training, or all for testing.
///
///     const auto ucf = ucf101_split("UCF-101", "ucfTrainTestlist", {.split = 1});
///     const glia::clip_dataset train(ucf.train);
///
/// The clips may be in one folder for each class or all in one folder. Labels are the class numbers
/// of the lists minus 1, so the first label is 0.
///
/// Source: Soomro, Zamir and Shah, "UCF101: A Dataset of 101 Human Actions Classes From Videos in
/// The Wild", CRCV-TR-12-01, 2012.
///
/// Throws `value_error` if the split is not 1, 2 or 3. Throws `data_error`, with list and line, if
/// a list is missing or damaged, or if a clip is missing. With `allow_missing`, missing clips are
/// an error only if all clips are missing.
[[nodiscard]] inline ucf101_clips ucf101_split(const std::filesystem::path& clips,
                                               const std::filesystem::path& lists,
                                               const ucf101_options& options = {}) {
  glia::require<glia::value_error>(options.split >= 1 && options.split <= 3,
                                   "ucf101_split: expected split 1, 2 or 3, got ", options.split);
  std::error_code ignored;
  glia::require<glia::data_error>(std::filesystem::is_directory(clips, ignored), clips.string(),
                                  ": no such folder; expected the folder of UCF101's clips");
  return ucf101_lists(clips, lists, options).take();
}
