#include <chrono>
#include <fstream>
#include <glia/core/whole_file.hpp>
#include <glia/pjrt.hpp>
#include <iterator>
#include <sstream>
#include <tuple>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "pjrt/failing_device.hpp"

using glia::detail::program_cache;

namespace {

namespace fs = std::filesystem;

std::vector<std::uint8_t> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

fs::path only_file(const fs::path& folder) {
  REQUIRE(std::distance(fs::directory_iterator(folder), {}) == 1);
  return fs::directory_iterator(folder)->path();
}

}  // namespace

TEST_CASE("a program is found under what it was made of, and only whole") {
  const test::temporary_folder temporary;
  const fs::path folder = temporary.path() / "deep" / "programs";
  const program_cache cache({.folder = folder});
  CHECK_FALSE(cache.find("key"));
  cache.keep("key", "program");
  CHECK(cache.find("key") == "program");
  CHECK_FALSE(cache.find("keyp"));
  CHECK((fs::status(folder).permissions() & fs::perms::all) == fs::perms::owner_all);
  cache.keep("key", "another");
  CHECK(cache.find("key") == "another");
  const fs::path file = only_file(folder);
  const std::vector<std::uint8_t> whole = bytes_of(file);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::vector<std::uint8_t> bad = test::damaged(whole, i);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bad.data()), static_cast<std::streamsize>(bad.size()));
    INFO(i);
    CHECK(cache.find("key").has_value() == (bad == whole));
  }
}

TEST_CASE("programs that were not used for longest make room") {
  const test::temporary_folder folder;
  const std::string program(1000, 'p');
  const program_cache cache({.folder = folder.path(), .max_bytes = 3500});
  const auto wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); };
  for (const char* const key : {"a", "b", "c"}) {
    cache.keep(key, program);
    wait();
  }
  CHECK(cache.find("a"));  // which is then the one that was used last
  wait();
  cache.keep("d", program);
  CHECK(cache.find("a"));
  CHECK_FALSE(cache.find("b"));
  CHECK(cache.find("c"));
  CHECK(cache.find("d"));
  cache.keep("huge", std::string(4000, 'p'));
  CHECK_FALSE(cache.find("huge"));
  CHECK(cache.find("d"));
}

TEST_CASE("a folder that programs cannot be kept in is no error") {
  const test::temporary_folder folder;
  folder.write("file", {'x'});
  for (const fs::path& path : {fs::path(), folder.path() / "file", fs::path("/proc/nowhere")}) {
    const program_cache cache({.folder = path});
    cache.keep("key", "program");
    CHECK_FALSE(cache.find("key"));
  }
}

TEST_CASE("a training finds its programs where an earlier one has kept them") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const test::temporary_folder folder;
    const auto train = [&](const fs::path& plugin_path) {
      const glia::pjrt device({.plugin = plugin_path, .cache = {.folder = folder.path()}});
      glia::model net{glia::sequential{glia::dense{8, glia::relu}, glia::dense{4}}, {2}, device};
      glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
      std::ostringstream shown;
      const glia::history h = trainer.fit(test::quadrants{50}, test::quadrants{30},
                                          {.epochs = 2, .batch_size = 10, .progress = &shown});
      const std::string lines = shown.str();
      return std::tuple{h.compilations, test::values_of(device, net.parameters()[0].value),
                        lines.substr(0, lines.find('\n')), lines.substr(lines.find('\n'))};
    };
    const auto [first, parameters, line, rest] = train(plugin);
    CHECK(first.compiled == 2);
    CHECK(first.loaded == 0);
    CHECK(test::contains(line, "  2 programs compiled in "));
    CHECK_FALSE(test::contains(rest, "compiled"));
    const auto [second, same, other_line, other_rest] = train(plugin);
    CHECK(second.compiled == 0);
    CHECK(second.loaded == 2);
    CHECK(test::contains(other_line, "  2 programs loaded in "));
    CHECK(same == parameters);
    // A damaged file is made again.
    for (const auto& file : fs::directory_iterator(folder.path())) {
      fs::resize_file(file.path(), fs::file_size(file.path()) / 2);
      break;
    }
    const auto [third, once_more, third_line, rest_of_third] = train(plugin);
    CHECK(third.compiled == 1);
    CHECK(third.loaded == 1);
    CHECK(test::contains(third_line, "  1 program compiled, 1 loaded in "));
    CHECK(once_more == parameters);
    CHECK(std::get<0>(train(plugin)).loaded == 2);
  }
  // So is one that the plugin does not take.
  const test::failing_plugin failing(plugins.front());
  const test::temporary_folder folder;
  const glia::pjrt_options options{.plugin = GLIA_FAILING_PLUGIN,
                                   .cache = {.folder = folder.path()}};
  const auto predict = [&] {
    const glia::pjrt device(options);
    const glia::model net{glia::dense{3}, {2}, device};
    (void)net.predict(xt::ones<float>({1, 2}));
    return device.compilations();
  };
  CHECK(predict().compiled == 1);
  CHECK(predict().loaded == 1);
  const test::variable_set refused("GLIA_FAIL_LOAD", "9 of another version");
  CHECK(predict().compiled == 1);
}
