#include <glia/core/utf8_path.hpp>
#include <glia/data/csv.hpp>
#include <glia/glia.hpp>
#include <glia/io/event_file.hpp>
#include <glia/io/npy.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/io/tfrecord.hpp>
#include <glia/io/write_npy.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/open.hpp>
#include <glia/training/checkpoints.hpp>

#include "catch.hpp"
#include "messages.hpp"
#include "posix.hpp"
#include "temporary_folder.hpp"

namespace {

/// Writes one file of each kind to a folder and reads it again.
void write_and_read(const std::filesystem::path& folder) {
  const xt::xarray<float> x{{1, 2}, {3, 4}};
  glia::model net{glia::sequential{glia::dense{2}}, {2}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  trainer.fit(
      glia::target_arrays{x, x},
      {.epochs = 1, .progress = nullptr, .callbacks = {glia::checkpoints(folder / "checkpoints")}});
  CHECK_FALSE(glia::checkpoints::newest_first(folder / "checkpoints").empty());

  glia::save(net, folder / "model.safetensors");
  for (const bool in_place : {false, true}) {
    const auto opened = glia::open(folder / "model.safetensors", {.in_place = in_place});
    CHECK((opened.predict(x) == net.predict(x)));
  }
  glia::write_npy(folder / "x.npy", x);
  CHECK((glia::read_npy(folder / "x.npy") == x));
  glia::write_whole_file(folder / "table.csv", [](std::ostream& out) { out << "a,b\r\n1,2\r\n"; });
  CHECK(glia::read_csv(folder / "table.csv").column("b")(0) == 2);
  glia::tfrecord_writer records(folder / "x.tfrecord");
  records.write("record");
  records.close();
  CHECK(glia::tfrecord_reader(folder / "x.tfrecord").next() == "record");
  CHECK(std::filesystem::exists(glia::detail::event_file(folder / "events").path()));
}

}  // namespace

TEST_CASE("names of files may have any characters, and are written in UTF-8 in errors") {
  const test::temporary_folder scratch;
  const std::string name = "größe 数字 🙂";
  const auto folder = scratch.path() / glia::detail::utf8_path(name);
  std::filesystem::create_directory(folder);
  write_and_read(folder);
  CHECK(test::contains(
      test::message_of<glia::data_error>([&] { (void)glia::read_csv(folder / "missing.csv"); }),
      name));
}

TEST_CASE("names of files may have more than 260 characters") {
  if (GLIA_TEST_HAS_POSIX == 0) {
    GLIA_SKIP("std::filesystem of MinGW lists no folders with longer names");
  }
  const test::temporary_folder scratch;
  const auto folder = scratch.path() / std::string(140, 'a') / std::string(140, 'b');
  std::filesystem::create_directories(folder);
  write_and_read(folder);
}
