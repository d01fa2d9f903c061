#include <glia/image/segmentation_folder.hpp>

#include "catch.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

using test::contains;
using test::message_of;

namespace {

/// Two folders of files that are not looked into.
struct file_pairs {
  test::temporary_folder folder;

  file_pairs() {
    std::filesystem::create_directory(images());
    std::filesystem::create_directory(masks());
  }
  [[nodiscard]] std::filesystem::path images() const { return folder.path() / "images"; }
  [[nodiscard]] std::filesystem::path masks() const { return folder.path() / "masks"; }
  void add(const std::vector<std::string>& file_names) const {
    for (const std::string& name : file_names) {
      folder.write(name, {1});
    }
  }
  [[nodiscard]] glia::segmentation_folder read() const { return {images(), masks()}; }
  [[nodiscard]] std::string error() const {
    return message_of<glia::data_error>([&] { (void)read(); });
  }
};

}  // namespace

TEST_CASE("images and masks are paired by their names without suffixes") {
  const file_pairs c;
  c.add({"images/b.png", "images/a.2.jpg", "images/B.JPG", "images/.hidden.jpg", "masks/B.png",
         "masks/a.2.png", "masks/b.png", "masks/.hidden.txt"});
  if (std::filesystem::exists(c.masks() / "A.2.PNG")) {
    GLIA_SKIP("names of this file system do not distinguish capital letters");
  }
  std::filesystem::create_directory(c.images() / "inner");
  const std::vector<glia::segmentation_file> expected{
      {c.images() / "B.JPG", c.masks() / "B.png"},
      {c.images() / "a.2.jpg", c.masks() / "a.2.png"},
      {c.images() / "b.png", c.masks() / "b.png"}};
  CHECK(c.read().files() == expected);
}

TEST_CASE("images without masks and masks without images are named") {
  const file_pairs c;
  CHECK(c.error() ==
        c.images().string() + ": the folder has no images; add images, or use another folder");
  c.add({"images/a.jpg", "masks/a.png", "images/b.jpg"});
  CHECK(c.error() == (c.images() / "b.jpg").string() + ": expected a file " +
                         (c.masks() / "b").string() +
                         ".png, or with another suffix, which is the mask, found none; add the "
                         "mask or remove the image");
  c.add({"images/d.jpg", "images/e.jpg"});
  CHECK(contains(c.error(), "b.jpg: expected a file "));
  CHECK(contains(c.error(), "found none (and none for 2 other files); add the mask"));
  c.add({"masks/b.png", "masks/c.png", "masks/d.png", "masks/e.png"});
  CHECK(c.error() == (c.masks() / "c.png").string() + ": expected a file " +
                         (c.images() / "c").string() +
                         ".png, or with another suffix, which is the image, found none; add the "
                         "image or remove the mask");
  c.add({"images/c.png"});
  CHECK(c.read().files().size() == 5);
  c.add({"images/c.jpeg"});
  CHECK(c.error() == (c.images() / "c.png").string() + ": expected one file with the name c, but " +
                         (c.images() / "c.jpeg").string() +
                         " has this name, too; rename or remove one of them");
}

TEST_CASE("missing folders of images and masks are named") {
  const file_pairs c;
  c.add({"images/a.jpg"});
  CHECK(message_of<glia::data_error>([&] {
          (void)glia::segmentation_folder("/nowhere", c.masks());
        }) == "/nowhere: no such folder; expected a folder of images");
  CHECK(message_of<glia::data_error>([&] {
          (void)glia::segmentation_folder(c.images(), "/nowhere");
        }) == "/nowhere: no such folder; expected a folder of masks");
}

TEST_CASE("pairs of files are held out, shuffled on demand") {
  const file_pairs c;
  for (int i = 10; i < 30; ++i) {
    c.add({"images/" + std::to_string(i) + ".jpg", "masks/" + std::to_string(i) + ".png"});
  }
  const glia::segmentation_folder read = c.read();
  const auto [training, validation] = read.split(0.29);
  CHECK(validation == std::vector(read.files().begin(), read.files().begin() + 5));
  CHECK(training == std::vector(read.files().begin() + 5, read.files().end()));
  const glia::segmentation_split shuffled = read.split(0.25, 7);
  CHECK(shuffled.validation.size() == 5);
  CHECK(shuffled.validation != validation);
  CHECK(read.split(0.25, 7).validation == shuffled.validation);
  CHECK(read.split(0.25, 8).validation != shuffled.validation);
  std::vector<glia::segmentation_file> files = shuffled.training;
  files.insert(files.end(), shuffled.validation.begin(), shuffled.validation.end());
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.image.native() < b.image.native(); });
  CHECK(files == read.files());
  for (const double fraction : {0.0, 1.0, std::nan("")}) {
    CHECK(contains(message_of<glia::value_error>([&] { (void)read.split(fraction); }),
                   "expected a fraction between 0 and 1 for validation, got "));
  }
}
