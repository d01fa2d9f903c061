#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

#ifndef GLIA_MPIRUN

TEST_CASE("ranks train together over MPI") {
  WARN("[skipped] no MPI was found as the tests were configured; install libopenmpi-dev");
}

#else

namespace {

bool runs(pid_t process) {
  std::ifstream file(glia::text("/proc/", process, "/stat"));
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z";
}

/// A program that mpirun started, with all that it prints.
class ranks_running {
 public:
  /// `extra_program` is one more rank's program, if not the same.
  ranks_running(std::size_t ranks, const std::filesystem::path& folder,
                const std::string& arguments, const std::filesystem::path& extra_program = {})
      : output_(folder.string() + ".txt"), start_(std::chrono::steady_clock::now()) {
    std::filesystem::create_directories(folder);
    // Launchers that share a folder for their sessions delete it under each other.
    const std::string sessions = folder.string() + ".sessions";
    std::filesystem::create_directories(sessions);
    const auto started = [&](std::size_t count, const std::string& program) {
      return glia::text("-n ", count, " '", program, "' '", folder.string(), "' ", arguments);
    };
    const std::string command =
        glia::text("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ",
                   "OMPI_MCA_rmaps_base_oversubscribe=1 TMPDIR='", sessions,
                   "'; exec '" GLIA_MPIRUN "' ", started(ranks, GLIA_MPI_TRAINING),
                   extra_program.empty() ? "" : " : " + started(1, extra_program.string()));
    std::string shell = "/bin/sh";
    std::string flag = "-c";
    std::string text = command;
    char* const argv[] = {shell.data(), flag.data(), text.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    REQUIRE(posix_spawn(&id_, shell.c_str(), &files, nullptr, argv, environ) == 0);
    posix_spawn_file_actions_destroy(&files);
  }

  ranks_running(const ranks_running&) = delete;
  ranks_running& operator=(const ranks_running&) = delete;
  ~ranks_running() {
    if (!waited_) {  // a check has failed
      kill(id_, SIGTERM);
      waitpid(id_, nullptr, 0);
    }
  }

  /// Of the program on each rank.
  [[nodiscard]] std::vector<pid_t> processes() const {
    std::vector<pid_t> result;
    std::ifstream children(glia::text("/proc/", id_, "/task/", id_, "/children"));
    for (pid_t child = 0; children >> child;) {
      result.push_back(child);
    }
    return result;
  }
  /// The same, once there are so many.
  [[nodiscard]] std::vector<pid_t> processes(std::size_t count) const {
    while (processes().size() != count) {
      REQUIRE(seconds() < 10);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return processes();
  }
  /// Waits until the ranks have taken some steps.
  void wait_for_steps() const {
    while (output().find("step 3") == std::string::npos) {
      REQUIRE(seconds() < 60);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  void send(int signal) const { kill(id_, signal); }
  /// Waits for the launcher. Open MPI 4.1's may lock itself up in PMIx_server_finalize, all ranks
  /// having ended, where one was killed in MPI_Init: such a one is killed.
  [[nodiscard]] int wait() {
    int status = 0;
    bool started = false;
    for (int looks_without_ranks = 0; waitpid(id_, &status, WNOHANG) != id_;) {
      const auto ranks = processes();
      const bool running = std::any_of(ranks.begin(), ranks.end(), runs);
      started = started || running;
      looks_without_ranks = running ? 0 : looks_without_ranks + 1;
      if (started && looks_without_ranks == 1000) {
        kill(id_, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    waited_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  [[nodiscard]] std::string output() const {
    std::ifstream file(output_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::string output_;
  std::chrono::steady_clock::time_point start_;
  pid_t id_ = 0;
  bool waited_ = false;
};

struct trained {
  int returned;
  std::string output;
  std::vector<unsigned char> model;
};

trained run_ranks(std::size_t ranks, const std::filesystem::path& folder,
                  const std::string& arguments) {
  ranks_running running(ranks, folder, arguments);
  const int returned = running.wait();
  const auto file = folder / "model.safetensors";
  const auto bytes = std::filesystem::exists(file) ? test::file_content(file) : std::string();
  return {returned, running.output(), {bytes.begin(), bytes.end()}};
}

std::vector<unsigned char> model_of(std::size_t ranks, const std::filesystem::path& folder,
                                    const std::string& arguments) {
  const trained result = run_ranks(ranks, folder, arguments);
  INFO(result.output);
  REQUIRE(result.returned == 0);
  REQUIRE(result.model.size() > 1000);
  return result.model;
}

/// None of the processes is there any more, or only until its parent has seen its end.
bool all_ended(const std::vector<pid_t>& processes) {
  for (int looks = 0; looks < 200; ++looks) {
    if (std::none_of(processes.begin(), processes.end(), runs)) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("reproducible training over MPI gives the same bits for every number of ranks") {
  const test::temporary_folder scratch;
  for (const std::string network : {"mlp", "cnn", "normalized"}) {
    const std::string options = "reproducible=1 epochs=2 network=" + network;
    const auto expected = model_of(1, scratch.path() / (network + "1"), options);
    CHECK(model_of(2, scratch.path() / (network + "2"), options + " threads=2") == expected);
    CHECK(model_of(3, scratch.path() / (network + "3"), options + " messages=1") == expected);
    CHECK(model_of(network == "mlp" ? 8 : 4, scratch.path() / (network + "8"), options) ==
          expected);
  }
}

TEST_CASE("training over MPI gives the same bits in every run, by messages or shared memory") {
  const test::temporary_folder scratch;
  for (const std::size_t ranks : {2U, 3U}) {
    const auto folder = [&](const char* name) { return scratch.path() / glia::text(name, ranks); };
    const auto first = model_of(ranks, folder("first"), "network=cnn");
    CHECK(model_of(ranks, folder("second"), "network=cnn threads=2") == first);
    CHECK(model_of(ranks, folder("messages"), "network=cnn messages=1") == first);
    CHECK(model_of(ranks, folder("rounded"), "network=cnn bfloat16=1") != first);
  }
}

TEST_CASE("ranks that are told to stop write a checkpoint, and others go on from it") {
  const test::temporary_folder scratch;
  const auto whole = model_of(1, scratch.path() / "whole", "reproducible=1");
  const auto folder = scratch.path() / "stopped";
  {
    ranks_running running(2, folder, "reproducible=1 pause=0.2");
    running.wait_for_steps();
    const auto processes = running.processes(2);
    running.send(SIGTERM);
    CHECK(running.wait() != 0);
    INFO(running.output());
    CHECK(test::contains(running.output(), "interrupted: SIGTERM"));
    CHECK(all_ended(processes));
  }
  CHECK(model_of(3, folder, "reproducible=1 resume=1") == whole);
}

TEST_CASE("a rank that throws, has other data, ends early or finds no room ends the run") {
  const test::temporary_folder scratch;
  const auto ends = [&](const std::string& options, const std::string& why) {
    ranks_running running(3, scratch.path() / options, options + " pause=0.01");
    const auto processes = running.processes(3);
    CHECK(running.wait() != 0);
    INFO(options << ": " << running.output());
    CHECK(running.seconds() < 10);
    CHECK(test::contains(running.output(), why));
    CHECK(all_ended(processes));
  };
  ends("throw=2", "photo-123.jpg: damaged");
  ends("throw=0", "photo-123.jpg: damaged");
  ends("data=1", "have different settings: ");
  ends("leave=1", "has ended before the other ranks");
  ends("full=0", "check that the disk is not full");
  ends("buckets=1", "'bucket bytes: 4096' and ");
}

TEST_CASE("a rank with another build of the program ends the run") {
  const test::temporary_folder scratch;
  const auto other = scratch.path() / "other";
  std::filesystem::copy_file(GLIA_MPI_TRAINING, other);
  std::ofstream(other, std::ios::binary | std::ios::app) << "another build";
  ranks_running running(1, scratch.path() / "run", "epochs=1", other);
  const auto processes = running.processes(2);
  CHECK(running.wait() != 0);
  INFO(running.output());
  CHECK(running.seconds() < 10);
  CHECK(test::contains(running.output(), "rank 1 on "));
  CHECK(test::contains(running.output(), "have different settings: "));
  CHECK(test::contains(running.output(), "'build: "));
  CHECK(all_ended(processes));
}

TEST_CASE("a rank that is killed ends the run, and the newest checkpoint is whole") {
  const test::temporary_folder scratch;
  std::mt19937 random(std::random_device{}());
  const char* const setting = std::getenv("GLIA_KILLED_RANKS");
  const int kills = setting == nullptr ? 4 : std::stoi(setting);
  const auto whole = model_of(1, scratch.path() / "whole", "reproducible=1");
  const auto folder = scratch.path() / "killed";
  for (int killed = 0; killed < kills;) {
    ranks_running running(3, folder, "reproducible=1 resume=1 pause=0.02");
    const auto processes = running.processes(3);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 400));
    const std::size_t rank = random() % 3;
    const bool complete = running.processes().size() == 3;
    if (complete) {
      REQUIRE(kill(processes[rank], SIGKILL) == 0);
    }
    const double begin = running.seconds();
    const int returned = running.wait();
    INFO(killed << ": " << running.output());
    if (!complete || returned == 0) {  // it had come to its end before: the next one begins anew
      REQUIRE(returned == 0);
      std::filesystem::remove_all(folder);
      continue;
    }
    ++killed;
    CHECK(running.seconds() - begin < 10);
    CHECK(all_ended(processes));
    // The launcher speaks of it, and where the ranks saw it first, they do.
    CHECK((test::contains(running.output(), "Killed") ||
           test::contains(running.output(), "no longer exists; it was killed")));
  }
  CHECK(model_of(2, folder, "reproducible=1 resume=1") == whole);
}

#endif
