#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <glia/core/platform/process.hpp>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace test {

/// All bytes of a file, as a string or a vector.
template <class Bytes = std::string>
[[nodiscard]] Bytes file_content(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    throw std::runtime_error(path.string() + ": cannot be opened");
  }
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own that goes with the test.
class temporary_folder {
 public:
  temporary_folder() {
    static int count = 0;
    do {
      path_ = std::filesystem::temp_directory_path() /
              ("glia-test-" + std::to_string(glia::platform::process_id()) + '-' +
               std::to_string(count++));
    } while (!std::filesystem::create_directory(path_));
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  ~temporary_folder() {
    std::error_code in_use;
    std::filesystem::remove_all(path_, in_use);
  }

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  void write(const std::string& name, const std::vector<std::uint8_t>& bytes) const {
    // What is written over a file goes to the disk at once, which takes its time.
    std::filesystem::remove(path_ / name);
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace test
