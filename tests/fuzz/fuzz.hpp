#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <glia/core/error.hpp>
#include <glia/core/file_source.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Of libFuzzer: changes the bytes in place and returns how many there are then.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

// What the programs that search for files that readers stumble over have in common. Each is
// program.cpp with one file that defines `seeds` and `check`. They are built with libFuzzer and
// sanitizers.
namespace fuzz {

using bytes = std::vector<std::uint8_t>;
using byte_view = std::span<const std::uint8_t>;

/// Small whole files, which the search begins with.
std::vector<bytes> seeds();

/// Reads the file and checks that what it gives holds together. What it throws of glia's errors is
/// as good an answer; any other one, and `fail`, end the program.
void check(byte_view file);

/// Ends the program, and says why; the file that did it is kept.
[[noreturn]] void fail(std::string_view message);

inline void require(bool holds, std::string_view message) {
  if (!holds) {
    fail(message);
  }
}

/// What reading may take in memory, in bytes.
struct memory_limit {
  std::size_t for_each_byte = 0;  ///< of the file
  std::size_t fixed = 0;
};

/// Counts the memory that is taken while it lives. More than the limit at a time ends the program.
class memory_watch {
 public:
  memory_watch(const memory_limit& limit, std::size_t file);
  memory_watch(const memory_watch&) = delete;
  memory_watch& operator=(const memory_watch&) = delete;
  ~memory_watch();
};

/// The path of a file with these bytes; it is the same one for each call.
const std::filesystem::path& file_of(byte_view content);

/// Where a check may write another file.
const std::filesystem::path& other_path();

/// All bytes of the file at `other_path`.
bytes written();

/// What `call(source)` reads from a source of `size` bytes. An error must name the source.
template <class Source, class Call>
auto read_named(const memory_limit& limit, std::size_t size, const Source& source,
                std::string_view name, const Call& call) {
  try {
    const memory_watch watch(limit, size);
    return call(source);
  } catch (const glia::error& e) {
    require(std::string_view(e.what()).find(name) != std::string_view::npos,
            "an error does not name the file");
    throw;
  }
}

/// What `call(path)` reads from a file with these bytes. An error must name the file.
template <class Call>
auto read_within(const memory_limit& limit, byte_view content, const Call& call) {
  const std::filesystem::path& path = file_of(content);
  return read_named(limit, content.size(), path, path.native(), call);
}

/// What `call(source)` reads from these bytes: from the bytes in memory if their number is odd,
/// otherwise from a file. An error must name the source.
template <class Call>
auto read_source_within(const memory_limit& limit, byte_view content, const Call& call) {
  const glia::file_source source =
      content.size() % 2 == 0 ? glia::file_source(file_of(content)) : glia::file_source(content);
  return read_named(limit, content.size(), source, source.name(), call);
}

/// What a call returns that must not fail, such as writing and reading again what was read.
template <class Call>
auto without_error(const Call& call) {
  try {
    return call();
  } catch (const glia::error& e) {
    fail(glia::text("what was read cannot be written and read again: ", e.what()));
  }
}

/// LLVMFuzzerMutate, followed by `seal` every second time, which puts a format's sums right.
template <class Seal>
std::size_t change_and_seal(std::uint8_t* data, std::size_t size, std::size_t max_size,
                            unsigned seed, const Seal& seal) {
  const std::size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 2 == 0) {
    seal(std::span(data, changed));
  }
  return changed;
}

}  // namespace fuzz
