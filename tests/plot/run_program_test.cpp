#include <csignal>
#include <glia/plot/run_program.hpp>

#include "catch.hpp"
#include "messages.hpp"

TEST_CASE("a program reads its input and its output comes back") {
  const auto result = glia::plot::run_program({"cat"}, std::string("line\n\0end", 9));
  CHECK(result.status == 0);
  CHECK(result.output == std::string("line\n\0end", 9));
  CHECK(result.errors.empty());
}

TEST_CASE("what a program reads, writes and says may be more than a pipe holds") {
  const std::string large(1 << 20, 'x');
  CHECK(glia::plot::run_program({"cat"}, large).output == large);
  CHECK(glia::plot::run_program({"true"}, large).status == 0);  // it reads nothing
  CHECK(glia::plot::run_program({"sh", "-c", "cat >&2"}, large).errors == large);
}

TEST_CASE("arguments reach a program as they are") {
  const std::string argument = "a b\n$HOME `date` \"'*\\";
  CHECK(glia::plot::run_program({"printf", "%s|%s", argument, ""}).output == argument + '|');
}

TEST_CASE("a program's end is told") {
  CHECK(glia::plot::run_program({"sh", "-c", "echo no >&2; exit 3"}).status == 3);
  CHECK(glia::plot::run_program({"sh", "-c", "echo no >&2; exit 3"}).errors == "no\n");
  CHECK(glia::plot::run_program({"sh", "-c", "kill -TERM $$"}).status ==
        glia::plot::program_result::signaled + SIGTERM);
  CHECK(glia::plot::run_program({"/nowhere/program"}).status ==
        glia::plot::program_result::not_found);
  CHECK(glia::plot::run_program({"no-program-of-this-name"}).status ==
        glia::plot::program_result::not_found);
  CHECK(
      test::contains(test::message_of<glia::value_error>([] { (void)glia::plot::run_program({}); }),
                     "expected a program"));
}
