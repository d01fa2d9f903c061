#include <glia/compression/gzip.hpp>
#include <glia/data/idx.hpp>
#include <glia/image/read_image.hpp>
#include <glia/io/npy.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <numeric>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "samples/arrays.hpp"
#include "samples/data_files.hpp"
#include "samples/images.hpp"

// Tables, checkpoints and models have such tests beside their others. The programs of this folder
// search further: see docs/reliability.md.
namespace {

struct damage_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "file";

  /// How many of 1,000 damaged copies of these files are read by `read(path)`.
  template <class Read>
  [[nodiscard]] std::size_t copies_read(const std::vector<std::vector<std::uint8_t>>& files,
                                        const Read& read) const {
    for (const auto& file : files) {
      read_copy(file, read);
    }
    return test::damaged_copies_read(files, [&](const auto& copy) { read_copy(copy, read); });
  }

 private:
  template <class Read>
  void read_copy(const std::vector<std::uint8_t>& bytes, const Read& read) const {
    folder.write("file", bytes);
    try {
      read(path);
    } catch (const glia::data_error& e) {
      REQUIRE(test::contains(e.what(), path.string()));
      throw;
    }
  }
};

std::vector<std::uint8_t> long_idx_file() {
  std::vector<std::uint8_t> values(2000);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return test::idx_file({20, 10, 10}, values);
}

}  // namespace

TEST_CASE("damaged IDX files give an error or their data") {
  const damage_scratch scratch;
  const auto read = [](const auto& path) {
    const auto data = glia::read_idx(path);
    REQUIRE(data.values.size() == data.extents.size());
  };
  // Nothing tells one element from another.
  CHECK(scratch.copies_read({long_idx_file()}, read) < 500);
}

TEST_CASE("damaged files of gzip give an error or their data") {
  const damage_scratch scratch;
  const auto whole = long_idx_file();
  const auto read = [&](const auto& path) {
    const auto data = glia::read_idx(path, glia::gzip_files{});
    REQUIRE(data.values == std::vector<std::uint8_t>(whole.begin() + 16, whole.end()));
  };
  // Of the head, a name and the time say nothing.
  CHECK(scratch.copies_read({test::samples::gzip(whole)}, read) < 50);
}

TEST_CASE("damaged safetensors files give an error or their tensors") {
  const damage_scratch scratch;
  const auto read = [](const auto& path) {
    for (const auto& t : glia::read_safetensors_content(path).tensors) {
      REQUIRE(t.template as<float>().size() == t.shape.size());
    }
    (void)glia::read_safetensors(path);
  };
  CHECK(scratch.copies_read(test::samples::safetensors(), read) < 300);
}

TEST_CASE("damaged NumPy files give an error or their array") {
  const damage_scratch scratch;
  const auto read = [](const auto& path) {
    const xt::xarray<double> values = glia::read_npy<double>(path);
    REQUIRE(glia::shape(values.shape().begin(), values.shape().end()).size() == values.size());
  };
  CHECK(scratch.copies_read(test::samples::npy(), read) < 300);
}

TEST_CASE("damaged npz files give an error or their arrays") {
  const damage_scratch scratch;
  const auto read = [](const auto& path) {
    for (const auto& [name, values] : glia::read_npz(path)) {
      REQUIRE(glia::shape(values.shape().begin(), values.shape().end()).size() == values.size());
    }
  };
  // Of a file's entries, dates and rights say nothing.
  CHECK(scratch.copies_read(test::samples::npz(), read) < 300);
}

TEST_CASE("damaged images give an error or a picture") {
  const damage_scratch scratch;
  const auto read = [](const auto& path) {
    const glia::image picture = glia::read_image(path);
    REQUIRE(picture.pixels.size() == picture.height * picture.width * 3);
  };
  SECTION("PNG") {
    // All bytes up to the last of the pixels are under a sum.
    CHECK(scratch.copies_read({test::png_file(test::scrambled(20, 30))}, read) < 50);
    CHECK(scratch.copies_read(test::samples::png(), read) < 400);
  }
  SECTION("JPEG") {
    // Nothing tells one pixel from another.
    CHECK(scratch.copies_read(test::samples::jpeg(), read) < 600);
  }
}
