#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <glia/training/checkpoint_file.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.hpp"

namespace test::samples {

using training_file = std::vector<std::uint8_t>;

/// What `write(path)` writes.
template <class Write>
training_file file_by(const Write& write) {
  const temporary_folder folder;
  const auto path = folder.path() / "file";
  write(path);
  return file_content<training_file>(path);
}

/// The same file with its checksum under another name, so that nothing holds it against the rest;
/// a file without one stays as it is.
[[nodiscard]] inline training_file without_checksum(training_file file) {
  constexpr std::string_view name = "\"checksum\"";
  const auto position = std::search(file.begin(), file.end(), name.begin(), name.end());
  if (position != file.end()) {
    position[1] = 'C';
  }
  return file;
}

/// What a checkpoint of the samples says of its model.
[[nodiscard]] inline std::map<std::string, std::string> identity() {
  return {{"description", "d"}, {"sample", "()"}, {"layers", "a\nb\n"}, {"fingerprint", "g: 7"}};
}

[[nodiscard]] inline std::vector<training_file> checkpoint() {
  glia::training_state state{.tensors = {{"w", {1, 2}, std::vector<float>{1, -2}},
                                         {"w.slot0", {1, 2}, std::vector<double>{0.5, 1e-300}}},
                             .seed = 1,
                             .step = 20,
                             .epoch = 3};
  std::vector<training_file> files;
  const auto add = [&] {
    files.push_back(file_by(
        [&](const auto& path) { glia::detail::write_checkpoint(path, state, identity()); }));
  };
  add();
  state.position = 10;
  state.samples = 45;
  state.batch_size = 10;
  state.shuffled = true;
  state.metrics = {"accuracy", "f1_score"};
  state.sums = {1, 2, 3};
  const glia::scores scores{0.5, {0.75, 0.5}, state.metrics};
  state.history = {
      {.epoch = 1, .samples = 45, .seconds = 1, .training = scores, .validation = {}},
      {.epoch = 2, .samples = 45, .seconds = 1, .training = scores, .validation = scores}};
  state.callback_state = {{"stop", {2}, std::vector<double>{1, 2}}};
  add();
  return files;
}

}  // namespace test::samples
