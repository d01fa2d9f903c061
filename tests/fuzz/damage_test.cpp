#include <glia/compression/gzip.hpp>
#include <glia/data/idx.hpp>
#include <glia/image/read_image.hpp>
#include <glia/io/npy.hpp>
#include <glia/io/npz.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/io/tfrecord.hpp>
#include <glia/io/tfrecord_index.hpp>
#include <glia/onnx/onnx_model.hpp>
#include <numeric>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "onnx/models.hpp"
#include "samples/arrays.hpp"
#include "samples/data_files.hpp"
#include "samples/images.hpp"
#include "samples/records.hpp"

// Tables, checkpoints and models have such tests beside their others. The programs of this folder
// search further: see docs/explanation/reliability.md.
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

/// Reads a TFRecord file front to back and by an index, up to where either fails, whose message it
/// returns; what is read before that must be the first of these records.
template <class Reader>
std::string record_error(const std::filesystem::path& path, const std::vector<std::string>& records,
                         const Reader& reader) {
  return test::message_of<glia::data_error>([&] {
    glia::tfrecord_reader stream(path, reader);
    for (std::size_t i = 0; const auto record = stream.next(); ++i) {
      REQUIRE((i < records.size() && *record == records[i]));
    }
  });
}
std::string index_error(const std::filesystem::path& path,
                        const std::vector<std::string>& records) {
  return test::message_of<glia::data_error>([&] {
    const glia::tfrecord_index index({path});
    REQUIRE(index.size() <= records.size());
    for (std::size_t i = 0; i < index.size(); ++i) {
      const std::string record = index.read(i);  // what it throws must get out
      REQUIRE(record == records[i]);
    }
  });
}

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

TEST_CASE("damaged ONNX files give an error or a network") {
  const damage_scratch scratch;
  std::vector<std::vector<std::uint8_t>> files;
  for (const char* const name : {"torch_cnn", "torch_gru_legacy", "torch_transfer_unoptimized",
                                 "torch_attention", "keras_gru", "quantized/torch_mlp_signed"}) {
    files.push_back(test::file_content<std::vector<std::uint8_t>>(test::onnx_folder() /
                                                                  (std::string(name) + ".onnx")));
  }
  const auto read = [](const auto& path) {
    const glia::onnx_model network(path);
    const auto& content = network.content();
    const auto signature = glia::onnx::interface_of(content, false, {});
    const std::vector<glia::shape> shapes{glia::batch_of(2, network.sample_shape())};
    const auto graph = glia::onnx::detail::naming_file(
        content, [&] { return glia::onnx::read_graph(content, signature, shapes, false, true); });
    REQUIRE(graph.calls.outputs().size() == signature.outputs.size());
  };
  // The format has no sums: most bytes are those of weights, names and words to readers, and of
  // these any are as good.
  CHECK(scratch.copies_read(files, read) < 400);
}

TEST_CASE("10,000 damaged TFRecord files give an error each time, and no other record before it") {
  const damage_scratch scratch;
  std::vector<std::string> records{std::string(40, 'a'), encode_example(test::samples::example(1)),
                                   std::string(35, '\0')};
  for (int i = 0; i < 5; ++i) {
    records.push_back(std::string(60, static_cast<char>(i)) + records.back());
  }
  // The format cannot tell a file that was cut between two records from a whole one. One that is
  // taken out would be such a cut, too, but all are longer than what is taken out.
  std::vector<std::size_t> ends{0};
  for (const std::string& record : records) {
    ends.push_back(ends.back() + glia::detail::framed_record(record).size());
  }
  const auto whole = test::samples::tfrecord_file(records);
  std::size_t found = 0;
  for (std::uint32_t number = 0; found < 10'000; ++number) {
    const auto copy = test::damaged(whole, number, 100);
    const bool cut = std::equal(
        copy.begin(), copy.end(), whole.begin(),
        whole.begin() + static_cast<std::ptrdiff_t>(std::min(copy.size(), whole.size())));
    if (copy == whole || (cut && copy.size() > 0 &&
                          std::find(ends.begin(), ends.end(), copy.size()) != ends.end())) {
      continue;
    }
    scratch.folder.write("file", copy);
    INFO("damage " << number);
    for (const std::string& error : {record_error(scratch.path, records, glia::plain_files{}),
                                     index_error(scratch.path, records)}) {
      REQUIRE(error.starts_with(scratch.path.string() + ": "));
      REQUIRE((test::contains(error, ": record ") || test::contains(error, "an empty file")));
    }
    ++found;
  }
}

TEST_CASE("damaged TFRecord files of gzip give an error or their records") {
  const damage_scratch scratch;
  const std::vector<std::string> records{"abc", "", std::string(300, 'x'), "d"};
  const auto read = [&](const auto& path) {
    const std::string error = record_error(path, records, glia::gzip_files{});
    glia::require<glia::data_error>(error.empty(), error);
  };
  CHECK(scratch.copies_read({test::samples::gzip(test::samples::tfrecord_file(records))}, read) <
        100);
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
