#include <array>
#include <cstddef>
#include <cstdint>
#include <glia/io/npy.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/model_file.hpp>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "samples/arrays.hpp"
#include "samples/models.hpp"

using test::contains;
using test::message_of;

namespace {

using bytes = std::vector<std::uint8_t>;

/// Reads files from memory and from a file, and damaged copies of them, too. Both must give the
/// same, or errors that differ in the name of the source only.
template <class Read>
void require_same(const std::vector<bytes>& files, const Read& read) {
  const test::temporary_folder folder;
  const auto path = folder.path() / "file";
  std::size_t read_count = 0;
  const auto result = [&](const glia::file_source& source) {
    try {
      auto values = read(source);
      ++read_count;
      return std::pair(std::string(), std::move(values));
    } catch (const glia::data_error& e) {
      std::string message = e.what();
      const std::size_t name = message.find(source.name());
      REQUIRE(name != std::string::npos);
      return std::pair(message.replace(name, source.name().size(), ""), decltype(read(source)){});
    }
  };
  for (std::uint32_t number = 0; number < 200; ++number) {
    bytes file = files[number % files.size()];
    if (number >= files.size()) {
      file = test::damaged(std::move(file), number);
    }
    folder.write("file", file);
    const auto from_file = result(path);
    const auto from_memory = result(file);
    CHECK(from_memory.first == from_file.first);
    CHECK(from_memory.second == from_file.second);
  }
  CHECK(read_count >= 2 * files.size());
}

/// The bits of numbers, because NaN is not equal to itself.
template <class Values>
bytes bits_of(const Values& values) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(*values.data())};
}

std::vector<std::pair<std::string, bytes>> arrays_of(const glia::tensor_map& tensors) {
  std::vector<std::pair<std::string, bytes>> result;
  for (const auto& [name, values] : tensors) {
    result.emplace_back(name, bits_of(values));
  }
  return result;
}

}  // namespace

TEST_CASE("arrays and tensors are read from memory as from files") {
  require_same(test::samples::npy(), [](const glia::file_source& source) {
    return bits_of(glia::read_npy<double>(source));
  });
  require_same(test::samples::npz(),
               [](const glia::file_source& source) { return arrays_of(glia::read_npz(source)); });
  require_same(test::samples::safetensors(), [](const glia::file_source& source) {
    return arrays_of(glia::read_safetensors(source));
  });
}

TEST_CASE("a model is loaded from memory") {
  const bytes file = test::samples::model().front();
  auto net = test::samples::small_model(2);
  glia::load(net, file);
  const std::span<const std::byte> view = std::as_bytes(std::span(file));
  auto other = test::samples::small_model(3);
  glia::load(other, view);
  for (const auto& p : net.parameters()) {
    CHECK((net.get(p.spec.name) == other.get(p.spec.name)));
  }
  CHECK(glia::read_metadata(view).empty());
  bytes damaged = file;
  damaged.back() ^= 1U;
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(net, damaged); }),
                 "bytes in memory: the contents do not match the checksum"));
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(net, bytes{}); }),
                 "bytes in memory: expected a safetensors file"));
}

TEST_CASE("a stream over memory has positions like a file") {
  const std::array<unsigned char, 5> numbers{'a', 'b', 'c', 'd', 'e'};
  const auto stream = glia::file_source(numbers).open();
  stream->seekg(3);
  CHECK(stream->get() == 'd');
  stream->seekg(-2, std::ios::cur);
  CHECK(stream->get() == 'c');
  stream->seekg(0, std::ios::end);
  CHECK(stream->tellg() == std::streampos(5));
  CHECK(stream->get() == std::istream::traits_type::eof());
  stream->clear();
  stream->seekg(6);
  CHECK(stream->fail());
  stream->clear();
  stream->seekg(-6, std::ios::end);
  CHECK(stream->fail());
  stream->clear();
  stream->seekg(0);
  CHECK(std::string(std::istreambuf_iterator<char>(*stream), {}) == "abcde");
}

TEST_CASE("a source has a name, and a path has its file") {
  CHECK(glia::file_source("a/b.npy").name() == "a/b.npy");
  CHECK(!glia::file_source(std::string("a/b.npy")).is_memory());
  CHECK(glia::file_source(bytes{1, 2}).is_memory());
  CHECK(glia::file_source(bytes{1, 2}, "net.onnx").name() == "net.onnx");
  const std::string content = "bytes";
  CHECK(!glia::file_source(content).is_memory());
  CHECK(glia::file_source(std::span<const char>(content)).is_memory());
  CHECK(message_of<glia::data_error>([] { (void)glia::file_source("missing").open(); }) ==
        "missing: the file cannot be opened for reading");
}
