#include <glia/compression/gzip.hpp>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::idx_file;
using test::message_of;

namespace {

std::vector<std::uint8_t> counting(std::size_t count) {
  std::vector<std::uint8_t> values(count);
  std::iota(values.begin(), values.end(), std::uint8_t{0});
  return values;
}

void write_gzip(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  gzFile file = gzopen(path.string().c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

/// The four files of a tiny MNIST: 3 training and 2 test images of 2x2.
void write_sets(const test::temporary_folder& folder) {
  folder.write("train-images-idx3-ubyte", idx_file({3, 2, 2}, counting(12)));
  folder.write("train-labels-idx1-ubyte", idx_file({3}, {7, 8, 9}));
  folder.write("t10k-images-idx3-ubyte", idx_file({2, 2, 2}, counting(8)));
  folder.write("t10k-labels-idx1-ubyte", idx_file({2}, {1, 2}));
}

template <class Reader = glia::plain_files>
std::string error_of(const std::filesystem::path& path, const Reader& reader = {}) {
  return message_of<glia::data_error>([&] { (void)glia::read_idx(path, reader); });
}

}  // namespace

TEST_CASE("IDX files are read plain and compressed") {
  const test::temporary_folder folder;
  const auto bytes = idx_file({2, 3}, counting(6));
  folder.write("plain", bytes);
  write_gzip(folder.path() / "packed", bytes);
  for (const char* name : {"plain", "packed"}) {
    const auto read = glia::read_idx(folder.path() / name, glia::gzip_files{});
    CHECK(read.extents == glia::shape{2, 3});
    CHECK(read.values == counting(6));
  }
  CHECK(glia::read_idx(folder.path() / "plain").values == counting(6));
}

TEST_CASE("errors of IDX files name the file and what is wrong with it") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "file";
  const std::string name = path.string();
  CHECK(error_of(path) == name + ": no such file");
  folder.write("file", {0, 0, 8});
  CHECK(contains(error_of(path), name + ": the file is truncated: expected the 4 bytes"));
  folder.write("file", {'P', 'N', 'G', '!'});
  CHECK(contains(error_of(path), "expected an IDX file"));
  folder.write("file", {0, 0, 13, 1});
  CHECK(contains(error_of(path), "expected IDX data of type 0x08 (unsigned bytes), got type 13"));
  folder.write("file", {0, 0, 8, 9});
  CHECK(contains(error_of(path), "expected 1 to 4 axes, got 9"));
  folder.write("file", {0, 0, 8, 2, 0, 0, 0, 1, 0});
  CHECK(contains(error_of(path),
                 "the file is truncated: its header ends before the extents of 2 axes"));
  folder.write("file", idx_file({2, 3}, counting(5)));
  CHECK(error_of(path) ==
        name +
            ": the file is truncated: the header announces the shape (2, 3), that is 6 bytes, but "
            "only 5 bytes follow");
  folder.write("file", idx_file({2, 3}, counting(7)));
  CHECK(contains(error_of(path), "the file has more than the 6 bytes"));
  // A header that announces 4 GB is found out before the memory is taken.
  folder.write("file", idx_file({0xFFFFFFFF}, counting(7)));
  CHECK(contains(error_of(path), "but only 7 bytes follow"));
}

TEST_CASE("extents whose product overflows are no small file") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "file";
  // 2^64 bytes, which is 0 where it overflows.
  folder.write("file", idx_file({65536, 65536, 65536, 65536}, {}));
  CHECK(error_of(path) ==
        path.string() +
            ": the file is truncated: the header announces the shape (65536, 65536, 65536, 65536), "
            "that is more bytes than can be counted, but only 0 bytes follow");
  folder.write("file", idx_file({0x80000000, 0x80000000, 4, 1}, counting(3)));
  CHECK(contains(error_of(path), "more bytes than can be counted, but only 3 bytes follow"));
  CHECK(contains(error_of(path, glia::gzip_files{}), "but only 3 bytes follow"));
  // An extent of 0 makes all of it empty, however large the others are.
  folder.write("file", idx_file({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0}, {}));
  CHECK(glia::read_idx(path).values.empty());
}

TEST_CASE("compressed data that come to more than is allowed are refused") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "file";
  const std::vector<std::uint8_t> zeros(3 << 20);
  write_gzip(path, idx_file({3, 1 << 20}, zeros));
  const auto error = [&](std::uint64_t limit) {
    return message_of<glia::data_error>(
        [&] { (void)glia::read_idx(path, glia::gzip_files{}, {.max_bytes = limit}); });
  };
  CHECK(error(3 << 20).empty());
  CHECK(
      error((3 << 20) - 1) ==
      path.string() +
          ": the header announces the shape (3, 1048576), that is 3145728 bytes, more than the "
          "3145727 "
          "that are allowed; get the file again or, if you trust it, raise idx_options::max_bytes");
  // Without an option there is a limit, too: this announces 64 GB, and begins with some.
  write_gzip(path, idx_file({1 << 16, 1 << 20}, zeros));
  CHECK(contains(
      message_of<glia::data_error>([&] { (void)glia::read_idx(path, glia::gzip_files{}); }),
      "that is 68719476736 bytes, more than the 1073741824 that are allowed"));
  // A file that is as large as what it holds cannot hold more than was looked for.
  folder.write("file", idx_file({3, 1 << 20}, zeros));
  CHECK(glia::read_idx(path, {}, {.max_bytes = 1}).values == zeros);
}

TEST_CASE("data are read in pieces of any number") {
  const test::temporary_folder folder;
  const std::size_t size = (40U << 20) + 5;
  std::vector<std::uint8_t> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = static_cast<std::uint8_t>(i * 7 / 3);
  }
  folder.write("file", idx_file({static_cast<std::uint32_t>(size)}, values));
  CHECK((glia::read_idx(folder.path() / "file").values == values));
  folder.write("file", idx_file({static_cast<std::uint32_t>(size) + 1}, values));
  CHECK(contains(error_of(folder.path() / "file"), "but only 41943045 bytes follow"));
}

TEST_CASE("a folder in place of an IDX file is called one") {
  const test::temporary_folder folder;
  const std::string expected = folder.path().string() + ": is a folder; expected a file";
  CHECK(error_of(folder.path()) == expected);
  CHECK(error_of(folder.path(), glia::gzip_files{}) == expected);
  CHECK(message_of<glia::data_error>([&] { (void)glia::plain_files{}.open(folder.path()); }) ==
        expected);
  CHECK(message_of<glia::data_error>([&] { (void)glia::gzip_files{}.open(folder.path()); }) ==
        expected);

  // Some unpackers put a file into a folder of its own name.
  write_sets(folder);
  const auto images = folder.path() / "train-images-idx3-ubyte";
  write_gzip(folder.path() / "train-images-idx3-ubyte.gz", idx_file({3, 2, 2}, counting(12)));
  std::filesystem::remove(images);
  std::filesystem::create_directory(images);
  CHECK(glia::load_mnist(folder.path(), glia::gzip_files{}).train.size() == 3);
  std::filesystem::remove(folder.path() / "train-images-idx3-ubyte.gz");
  CHECK(message_of<glia::data_error>([&] { (void)glia::load_mnist(folder.path()); }) ==
        images.string() + ": is a folder; expected a file");
}

TEST_CASE("compressed files that are damaged, or read without zlib, are refused") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "file.gz";
  write_gzip(path, idx_file({200}, counting(200)));
  CHECK(contains(error_of(path), "the file is compressed with gzip; pass glia::gzip_files{}"));
  std::filesystem::resize_file(path, 40);
  CHECK(contains(error_of(path, glia::gzip_files{}), path.string() + ": "));
}

TEST_CASE("MNIST sets keep bytes and give floats in [0, 1]") {
  const test::temporary_folder folder;
  write_sets(folder);
  const auto sets = glia::load_mnist(folder.path());
  CHECK(sets.train.size() == 3);
  CHECK(sets.train.input_shape() == glia::shape{2, 2});
  CHECK(sets.train.label(2) == 9);
  CHECK(sets.test.pixels(1)[3] == 7);
  std::vector<float> image(4);
  sets.train.input(2, image);
  CHECK(image == std::vector<float>{8 / 255.0F, 9 / 255.0F, 10 / 255.0F, 11 / 255.0F});
}

TEST_CASE("bytes become floats to the last bit, one image or several at a time") {
  // Every byte at every place of a block and behind the blocks.
  constexpr std::size_t size = 77;
  constexpr std::size_t images = 256;
  std::vector<std::uint8_t> pixels(images * size);
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    pixels[i] = static_cast<std::uint8_t>(i);
  }
  const glia::image_bytes data({size}, pixels, std::vector<std::uint8_t>(images));
  std::vector<std::uint32_t> order(images);
  std::iota(order.rbegin(), order.rend(), 0U);
  std::vector<float> batch(images * size);
  data.inputs(order, batch);
  std::vector<float> image(size);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < images; ++i) {
    data.input(order[i], image);
    for (std::size_t k = 0; k < size; ++k) {
      const float expected = static_cast<float>(pixels[order[i] * size + k]) / 255.0F;
      wrong += image[k] != expected || batch[i * size + k] != expected ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("errors of MNIST folders name what is missing or disagrees") {
  const test::temporary_folder folder;
  const auto error = [&](const auto& reader) {
    return message_of<glia::data_error>([&] { (void)glia::load_mnist(folder.path(), reader); });
  };
  CHECK(contains(error(glia::plain_files{}), "holds neither train-images-idx3-ubyte"));
  CHECK(contains(error(glia::gzip_files{}),
                 "neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz"));
  CHECK(contains(message_of<glia::data_error>([] { (void)glia::load_mnist("/nowhere"); }),
                 "/nowhere: no such folder"));
  write_sets(folder);
  folder.write("t10k-labels-idx1-ubyte", idx_file({3}, {1, 2, 3}));
  CHECK(contains(error(glia::plain_files{}), "holds 2 images, but "));
  CHECK(contains(error(glia::plain_files{}), "holds 3 labels"));
  folder.write("t10k-labels-idx1-ubyte", idx_file({2, 1}, {1, 2}));
  CHECK(contains(error(glia::plain_files{}), "expected labels (N), got (2, 1)"));
  write_sets(folder);
  folder.write("t10k-images-idx3-ubyte", idx_file({2, 1, 2}, counting(4)));
  CHECK(contains(error(glia::plain_files{}),
                 "expected training and test images of one shape, got (2, 2) and (1, 2)"));
  std::filesystem::rename(folder.path() / "train-images-idx3-ubyte",
                          folder.path() / "train-images-idx3-ubyte.gz");
  CHECK(contains(error(glia::plain_files{}), "compressed with gzip"));
}

TEST_CASE("the MNIST files of the repository are the real ones") {
  const auto sets = glia::load_mnist(GLIA_EXAMPLE_DATA "/mnist", glia::gzip_files{});
  CHECK(sets.train.size() == 60000);
  CHECK(sets.test.size() == 10000);
  CHECK(sets.train.input_shape() == glia::shape{28, 28});
  CHECK(sets.train.label(0) == 5);
  CHECK(sets.test.label(0) == 7);
  double sum = 0;
  for (std::size_t i = 0; i < 60000; ++i) {
    for (std::uint8_t pixel : sets.train.pixels(i)) {
      sum += pixel;
    }
  }
  CHECK(std::abs(sum / (60000.0 * 784) / 255 - 0.1307) < 1e-4);  // the well-known mean
}
