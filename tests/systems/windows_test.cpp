#include <cerrno>
#include <chrono>
#include <filesystem>
#include <glia/core/platform/machine.hpp>
#include <glia/core/platform/plain_number.hpp>
#include <glia/core/platform/terminal.hpp>
#include <glia/core/platform/windows_api.hpp>
#include <glia/core/utf8_path.hpp>
#include <glia/models/model_file.hpp>
#include <glia/plot/run_program.hpp>
#include <glia/training/interrupt.hpp>
#include <thread>

#include "catch.hpp"
#include "embedded.hpp"
#include "helpers.hpp"
#include "messages.hpp"

TEST_CASE("Ctrl-C of the console reaches an interrupt guard") {
  const glia::interrupt_guard guard;
  if (GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) == 0) {
    GLIA_SKIP("this program has no console");
  }
  for (int i = 0; i < 500 && !guard.interrupted(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(guard.interrupted());
  CHECK(std::string(guard.reason()) == "Ctrl-C");
}

TEST_CASE("a program's input, output and end are Windows's, too") {
  const auto typed = glia::plot::run_program({"cmd", "/q"}, "echo yes\r\nexit 5\r\n");
  CHECK(typed.status == 5);
  CHECK(typed.output.find("yes\r\n") != std::string::npos);
  const auto failed = glia::plot::run_program({"cmd", "/q"}, "echo no>&2\r\nexit 3\r\n");
  CHECK(failed.status == 3);
  CHECK(failed.errors.find("no\r\n") != std::string::npos);
  CHECK(glia::plot::run_program({"no-program-of-this-name"}).status ==
        glia::plot::program_result::not_found);
}

TEST_CASE("a program of the current folder is not run instead of one in PATH") {
  const test::temporary_folder scratch;
  const auto before = std::filesystem::current_path();
  const std::string name = "no program größe 数字";
  const auto copy = scratch.path() / glia::detail::utf8_path(name + ".exe");
  const auto program = glia::platform::program_path();
  std::filesystem::copy_file(program, copy);
  for (const auto& entry : std::filesystem::directory_iterator(program.parent_path())) {
    if (entry.path().extension() == ".dll") {
      std::filesystem::copy_file(entry.path(), scratch.path() / entry.path().filename());
    }
  }
  std::filesystem::current_path(scratch.path());
  const int searched = glia::plot::run_program({name, "--help"}).status;
  const int named = glia::plot::run_program({copy.string(), "--help"}).status;
  std::filesystem::current_path(before);
  CHECK(searched == glia::plot::program_result::not_found);
  CHECK(named == 0);
}

TEST_CASE("a read-only file is not replaced, and nothing is left beside it") {
  const test::temporary_folder scratch;
  const auto path = scratch.path() / "net.safetensors";
  const auto net = [](unsigned seed) {
    return glia::model{glia::dense{1}, {1}, glia::cpu{}, {.seed = seed}};
  };
  glia::save(net(1), path);
  const auto old = test::file_content(path);
  std::filesystem::permissions(path, std::filesystem::perms{0444});
  const std::string message = test::message_of<glia::data_error>([&] { glia::save(net(2), path); });
  CHECK(test::contains(message, "neither a folder nor read-only"));
  CHECK(test::file_content(path) == old);
  std::filesystem::permissions(path, std::filesystem::perms{0666});
  using files = std::filesystem::directory_iterator;
  CHECK(std::distance(files(scratch.path()), files{}) == 1);
  glia::save(net(2), path);
  CHECK(test::file_content(path) != old);
}

TEST_CASE("long paths have the form that Windows needs for them") {
  const std::wstring name(250, L'x');
  using glia::platform::windows::api_path;
  CHECK(api_path(L"C:/a/file") == L"C:/a/file");
  CHECK(api_path(L"C:/a/../b/" + name) == L"\\\\?\\C:\\b\\" + name);
  CHECK(api_path(L"//server/share/" + name) == L"\\\\?\\UNC\\server\\share\\" + name);
  CHECK(api_path(L"\\\\?\\C:\\b\\" + name) == L"\\\\?\\C:\\b\\" + name);
}

TEST_CASE("a number outside the range of float is an error, not infinity") {
  for (const std::string text : {"1e39", "-1e39", "1e-60", "1e400"}) {
    CAPTURE(text);
    char* end = nullptr;
    errno = 0;
    static_cast<void>(glia::platform::plain_number<float>(text.c_str(), &end));
    CHECK(errno == ERANGE);
    CHECK(*end == 0);
  }
  errno = 0;
  CHECK(glia::platform::plain_number<float>("1.5e3", nullptr) == 1500);
  CHECK(errno == 0);
}

TEST_CASE("a file that is embedded into a program is there, byte by byte") {
  CHECK(embedded().size() > 500);
  CHECK(static_cast<char>(embedded()[0]) == '#');
}
