#include <chrono>
#include <glia/core/platform/terminal.hpp>
#include <glia/plot/run_program.hpp>
#include <glia/training/interrupt.hpp>
#include <thread>

#include "catch.hpp"
#include "embedded.hpp"

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

TEST_CASE("a file that is embedded into a program is there, byte by byte") {
  CHECK(embedded().size() > 500);
  CHECK(static_cast<char>(embedded()[0]) == '#');
}
