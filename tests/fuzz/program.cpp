// What libFuzzer calls in each of the programs.
#include <fcntl.h>
#include <sanitizer/allocator_interface.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz/fuzz.hpp"

namespace fuzz {

namespace {

struct {
  bool active = false;
  std::int64_t used = 0;
  std::int64_t allowed = 0;
  std::size_t file = 0;
} memory;

void note_taken(const volatile void* /*block*/, std::size_t size) {
  if (!memory.active) {
    return;
  }
  memory.used += static_cast<std::int64_t>(size);
  if (memory.used > memory.allowed) {
    memory.active = false;
    std::fprintf(stderr, "%lld bytes for a file of %zu, where %lld are allowed\n",
                 static_cast<long long>(memory.used), memory.file,
                 static_cast<long long>(memory.allowed));
    fail("reading takes more memory than its limit");
  }
}

void note_given_back(const volatile void* block) {
  if (memory.active) {
    memory.used -=
        static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(block)));
  }
}

/// In a folder that should be in memory: see tests/run_fuzz.
std::filesystem::path path_of(const char* name) {
  return std::filesystem::temp_directory_path() / glia::text("glia-fuzz-", getpid(), name);
}

}  // namespace

void fail(std::string_view message) {
  std::fprintf(stderr, "==%d== %.*s\n", getpid(), static_cast<int>(message.size()), message.data());
  std::abort();
}

memory_watch::memory_watch(const memory_limit& limit, std::size_t file) {
  memory.used = 0;
  memory.file = file;
  memory.allowed = static_cast<std::int64_t>(limit.for_each_byte * file + limit.fixed);
  memory.active = true;
}
memory_watch::~memory_watch() { memory.active = false; }

const std::filesystem::path& file_of(byte_view content) {
  static const std::filesystem::path path = path_of("");
  static const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto size = static_cast<ssize_t>(content.size());
  require(ftruncate(file, size) == 0 && pwrite(file, content.data(), content.size(), 0) == size,
          "the file cannot be written");
  return path;
}

const std::filesystem::path& other_path() {
  static const std::filesystem::path path = path_of("-other");
  return path;
}

bytes written() {
  std::ifstream stream(other_path(), std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  if (const char* folder = std::getenv("GLIA_FUZZ_SEEDS")) {
    std::size_t number = 0;
    for (const fuzz::bytes& seed : fuzz::seeds()) {
      std::ofstream(std::filesystem::path(folder) / glia::text("seed-", number++), std::ios::binary)
          .write(reinterpret_cast<const char*>(seed.data()),
                 static_cast<std::streamsize>(seed.size()));
    }
    std::exit(0);
  }
  __sanitizer_install_malloc_and_free_hooks(&fuzz::note_taken, &fuzz::note_given_back);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz::check({data, size});
  } catch (const glia::error&) {
  }
  return 0;
}
