#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "catch.hpp"
#include "child_process.hpp"
#include "helpers.hpp"

namespace {

using seconds = std::chrono::duration<double>;

/// Ends trainings by `end(program)` at random moments and runs them again, until so many were
/// ended.
template <class End>
void end_and_go_on(const End& end, int ends, const std::string& network,
                   const std::string& number) {
  const test::temporary_folder scratch;
  const auto start_in = [&](const std::filesystem::path& folder) {
    return test::child_process({GLIA_KILLED_TRAINING, folder.string(), network, number});
  };
  const auto whole = scratch.path() / "whole";
  const auto run_whole = [&]() -> seconds {
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(start_in(whole).wait() == 0);
    return std::chrono::steady_clock::now() - start;
  };
  const seconds takes = run_whole();
  const seconds begins = run_whole();  // nothing is left to be trained
  const auto expected = test::file_content(whole / "model.safetensors");
  REQUIRE(expected.size() > 1000);

  const auto folder = scratch.path() / "ended";
  std::mt19937 random(std::random_device{}());
  // Some before a training has begun, however long that takes, and each training several times.
  std::bernoulli_distribution early(0.3);
  std::uniform_real_distribution<double> share(0, 1);
  const auto moment = [&] {
    const seconds training = std::max(takes - begins, takes / 10);
    return early(random) ? share(random) * begins : begins + share(random) / 3 * training;
  };
  int ended = 0;
  int in_training = 0;
  for (bool enough = false; !enough;) {
    // On a busy machine many a program does not come to its training.
    enough = ended >= ends && in_training > ends / 3;
    REQUIRE(ended < 20 * ends);
    const bool begun = std::filesystem::exists(folder);
    const test::child_process running = start_in(folder);
    if (!enough) {
      std::this_thread::sleep_for(moment());
      end(running);
    }
    const int result = running.wait();
    if (result != 0) {
      // Before it listens to Ctrl-C the program is ended by it.
      REQUIRE((result == test::child_process::killed ||
               result == test::child_process::interrupted || result == 130));
      ++ended;
      in_training += begun && std::filesystem::exists(folder / "best.safetensors") ? 1 : 0;
      continue;
    }
    const auto model = test::file_content(folder / "model.safetensors");
    REQUIRE((model == expected));
    if (!enough) {
      std::filesystem::remove_all(folder);
    }
  }
}

}  // namespace

TEST_CASE("a training that is killed at random moments and gone on with ends bit for bit alike") {
  const std::string network = GENERATE("mlp", "cnn");
  const std::string number = GENERATE("float", "double");
  CAPTURE(network, number);
  end_and_go_on([](const auto& program) { program.kill(); }, 50, network, number);
}

TEST_CASE("a training that Ctrl-C ends at random moments and gone on with ends bit for bit alike") {
  if (!test::child_process::can_interrupt()) {
    GLIA_SKIP("this program has no console");
  }
  end_and_go_on([](const auto& program) { program.interrupt(); }, 50, "cnn", "float");
}
