#include <glia/pjrt.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

std::string refusal(const std::filesystem::path& plugin) {
  return message_of<glia::device_error>([&] { (void)glia::pjrt({.plugin = plugin}); });
}

}  // namespace

TEST_CASE("a plugin that cannot be had is an error that says what is wrong with it") {
  CHECK(contains(
      refusal(""),
      "pjrt: the path of the plugin is empty; docs/how_to/devices.md says how to get a plugin"));
  CHECK(contains(refusal("/nowhere/plugin.so"), "pjrt: /nowhere/plugin.so: cannot be loaded ("));
  CHECK(contains(refusal("/nowhere/plugin.so"), "No such file or directory"));
  const test::temporary_folder folder;
  folder.write("text.so", {'t', 'e', 'x', 't'});
  CHECK(contains(refusal(folder.path() / "text.so"), "text.so: cannot be loaded ("));
  CHECK(contains(refusal(GLIA_NO_PLUGIN),
                 "is not a PJRT plugin, because it has no symbol GetPjrtApi"));
  CHECK(contains(refusal(GLIA_OTHER_PLUGIN),
                 "has version 1.3 of PJRT's C API; expected 0.81 or a similar version"));
}
