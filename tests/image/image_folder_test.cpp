#include <glia/image/image_folder.hpp>

#include "catch.hpp"
#include "image/pictures.hpp"
#include "posix.hpp"

using test::contains;
using test::message_of;

namespace {

using names = std::vector<std::string>;

/// A folder of classes, each with files that are not looked into.
struct collection {
  test::temporary_folder folder;

  void add(const std::string& name, std::size_t count) const {
    std::filesystem::create_directory(folder.path() / name);
    for (std::size_t i = 0; i < count; ++i) {
      folder.write(name + "/" + std::to_string(100 + i) + ".jpg", {1});
    }
  }
  [[nodiscard]] std::string error(const glia::image_folder_options& options = {}) const {
    return message_of<glia::data_error>([&] { (void)glia::image_folder(folder.path(), options); });
  }
};

/// "class/file" of each.
names names_of(const std::vector<glia::image_file>& files) {
  names result;
  for (const glia::image_file& file : files) {
    result.push_back(std::to_string(file.label) + " " +
                     file.path.parent_path().filename().string() + "/" +
                     file.path.filename().string());
  }
  return result;
}

}  // namespace

TEST_CASE("folders are classes, folders and files in the order of their names") {
  if (GLIA_TEST_HAS_POSIX == 0) {
    GLIA_SKIP("this system has no symbolic links for everybody");
  }
  const collection c;
  c.add("b", 2);
  c.add("a", 0);
  c.add(".git", 2);
  c.folder.write("notes.txt", {1});
  c.folder.write("a/10.png", {1});
  c.folder.write("a/9.png", {1});
  c.folder.write("a/B.png", {1});
  c.folder.write("a/.hidden", {1});
  std::filesystem::create_directory(c.folder.path() / "a" / "inner");
  std::filesystem::create_symlink(c.folder.path() / "b" / "100.jpg",
                                  c.folder.path() / "a" / "link");
  std::filesystem::create_directory_symlink(c.folder.path() / "b", c.folder.path() / "c");
  const glia::image_folder read(c.folder.path());
  CHECK(read.class_names() == names{"a", "b", "c"});
  CHECK(names_of(read.files()) == names{"0 a/10.png", "0 a/9.png", "0 a/B.png", "0 a/link",
                                        "1 b/100.jpg", "1 b/101.jpg", "2 c/100.jpg",
                                        "2 c/101.jpg"});
  CHECK(read.skipped().empty());
}

TEST_CASE("classes can be named, and are found under their plural, too") {
  const collection c;
  c.add("roses", 2);
  c.add("daisy", 1);
  c.add("tulip", 1);
  c.add("tulips", 3);
  const glia::image_folder read(c.folder.path(), {.class_names = {"rose", "daisy"}});
  CHECK(read.class_names() == names{"rose", "daisy"});
  CHECK(names_of(read.files()) == names{"0 roses/100.jpg", "0 roses/101.jpg", "1 daisy/100.jpg"});
  const glia::image_folder exact(c.folder.path(), {.class_names = {"tulip", "rose"}});
  CHECK(exact.files().size() == 3);
  CHECK(c.error({.class_names = {"rose", "sunflower"}}) ==
        c.folder.path().string() +
            ": expected a folder sunflower or sunflowers for the class sunflower, found the "
            "folders daisy, "
            "roses, tulip, tulips");
  CHECK(contains(c.error({.class_names = {"rose", "roses"}}),
                 "roses: the folder belongs to two classes"));
}

TEST_CASE("errors of image folders name the folder and what is missing") {
  const collection c;
  CHECK(contains(
      message_of<glia::data_error>([] { (void)glia::image_folder("/nowhere"); }),
      "/nowhere: no such folder; expected a folder with one folder of images for each class"));
  CHECK(contains(c.error(), "expected two or more classes, each a folder of images, found 0"));
  CHECK(contains(c.error({.class_names = {"a", "b"}}), "for the class a, found no folders"));
  c.add("a", 1);
  CHECK(contains(c.error(), "expected two or more classes, each a folder of images, found 1"));
  c.add("b", 0);
  CHECK(contains(c.error(), (c.folder.path() / "b").string() + ": the class has no images"));
}

TEST_CASE("files that cannot be read are left out on demand, with the reason") {
  if (GLIA_TEST_HAS_POSIX == 0) {
    GLIA_SKIP("this system has no symbolic links for everybody");
  }
  const collection c;
  for (const std::string name : {"a", "b"}) {
    c.add(name, 0);
    for (int i = 0; i < 4; ++i) {
      c.folder.write(name + "/" + std::to_string(i) + ".jpg",
                     test::jpeg_file(test::gradient(30, 40)));
    }
  }
  const auto whole = test::jpeg_file(test::gradient(30, 40));
  c.folder.write("a/1.jpg", test::cut(whole, whole.size() - 40));
  c.folder.write("b/0.jpg", test::text_file("import flickr"));
  c.folder.write("b/4.jpg", test::jpeg_declaring(whole, 30000, 30000));
  std::filesystem::create_symlink("/nowhere", c.folder.path() / "b" / "5.jpg");

  CHECK(glia::image_folder(c.folder.path()).files().size() == 10);
  for (const std::size_t threads : {1U, 3U}) {
    const glia::image_folder read(c.folder.path(), {.skip_broken = true, .threads = threads});
    CHECK(names_of(read.files()) ==
          names{"0 a/0.jpg", "0 a/2.jpg", "0 a/3.jpg", "1 b/1.jpg", "1 b/2.jpg", "1 b/3.jpg"});
    REQUIRE(read.skipped().size() == 4);
    CHECK(read.skipped()[0].path == c.folder.path() / "a" / "1.jpg");
    CHECK(contains(read.skipped()[0].reason, "expected a complete JPEG image"));
    CHECK(contains(read.skipped()[1].reason, "expected a JPEG, which begins with"));
    CHECK(contains(read.skipped()[2].reason, "declares 30000 x 30000 pixels"));
    CHECK(contains(read.skipped()[3].reason, "no such file"));
    CHECK(read.split(0.5).validation.size() == 2);
  }
  CHECK(contains(c.error({.skip_broken = true, .max_pixels = 100}),
                 "class a: none of the files can be read; the error of the last file: " +
                     (c.folder.path() / "a" / "3.jpg").string() + ": the header declares"));
}

TEST_CASE("the first files of each class are held out") {
  const collection c;
  c.add("a", 5);
  c.add("b", 9);
  const glia::image_folder read(c.folder.path());
  const auto [training, validation] = read.split(0.4);
  CHECK(names_of(validation) ==
        names{"0 a/100.jpg", "0 a/101.jpg", "1 b/100.jpg", "1 b/101.jpg", "1 b/102.jpg"});
  CHECK(training.size() == 9);
  CHECK(names_of(training)[0] == "0 a/102.jpg");
  CHECK(names_of(training)[3] == "1 b/103.jpg");
  for (const double fraction : {0.0, 1.0, -0.5, std::nan("")}) {
    CHECK(contains(message_of<glia::value_error>([&] { (void)read.split(fraction); }),
                   "expected a fraction between 0 and 1 for validation, got "));
  }
}

TEST_CASE("a split can be shuffled within the classes") {
  const collection c;
  c.add("a", 20);
  c.add("b", 30);
  const glia::image_folder read(c.folder.path());
  const auto [training, validation] = read.split(0.2, 7);
  CHECK(validation.size() == 10);
  CHECK(std::count_if(validation.begin(), validation.end(),
                      [](const glia::image_file& file) { return file.label == 0; }) == 4);
  std::vector<glia::image_file> files = training;
  files.insert(files.end(), validation.begin(), validation.end());
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.path.native() < b.path.native(); });
  CHECK(files == read.files());
  CHECK(read.split(0.2, 7).validation == validation);
  CHECK_FALSE(read.split(0.2, 8).validation == validation);
  CHECK_FALSE(read.split(0.2).validation == validation);
}

TEST_CASE("the flowers split as Keras splits them") {
  const std::filesystem::path folder = GLIA_SHARED_DATA "/flowers";
  if (!std::filesystem::exists(folder)) {
    GLIA_SKIP("no flowers in " + folder.string());
  }
  const glia::image_folder flowers(
      folder,
      {.class_names = {"daisy", "dandelion", "rose", "sunflower", "tulip"}, .skip_broken = true});
  CHECK(flowers.skipped().empty());
  std::vector<std::size_t> counts(5);
  for (const glia::image_file& file : flowers.files()) {
    ++counts[static_cast<std::size_t>(file.label)];
  }
  CHECK(counts == std::vector<std::size_t>{764, 1052, 784, 733, 984});
  const auto [training, validation] = flowers.split(0.2);
  CHECK(training.size() == 3457);
  CHECK(validation.size() == 860);
  CHECK(validation[0].path.filename() == "100080576_f52e8ee070_n.jpg");
}
