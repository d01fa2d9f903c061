#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "glia/core/error.hpp"

namespace glia {

/// How a program ended and what it wrote.
struct program_result {
  static constexpr int not_found = 127;  ///< as shells have it
  static constexpr int signalled = 128;  ///< to this a signal's number is added

  int status = 0;
  std::string output;
  std::string errors;
};

namespace detail {

/// A file without a name, which goes with the object. Programs get files and not pipes: none waits
/// for another, and one that reads nothing raises no SIGPIPE.
class unnamed_file {
 public:
  unnamed_file() : file_(std::tmpfile()) {
    require<data_error>(file_ != nullptr,
                        "run_program: no temporary file can be made; is the disk full, or /tmp "
                        "not to be written to?");
    // Above the three that a program's own are to replace, and not left open in other programs.
    number_ = fcntl(fileno(file_), F_DUPFD_CLOEXEC, 3);
  }
  unnamed_file(const unnamed_file&) = delete;
  unnamed_file& operator=(const unnamed_file&) = delete;
  ~unnamed_file() {
    close(number_);
    std::fclose(file_);
  }

  [[nodiscard]] int number() const { return number_; }

  void write(std::string_view text) {
    const bool whole =
        (text.empty() || std::fwrite(text.data(), 1, text.size(), file_) == text.size()) &&
        std::fflush(file_) == 0 && std::fseek(file_, 0, SEEK_SET) == 0;
    require<data_error>(whole,
                        "run_program: a temporary file cannot be written; is the disk full?");
  }
  [[nodiscard]] std::string read() {
    std::string text;
    std::array<char, 65536> piece{};
    std::rewind(file_);
    while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file_)) {
      text.append(piece.data(), count);
    }
    return text;
  }

 private:
  std::FILE* file_;
  int number_ = -1;
};

}  // namespace detail

/// Runs a program, found by PATH unless its name has a slash, with arguments that no shell reads,
/// and waits for its end. `input` is what it reads from its standard input. A program that is not
/// there, or that the system cannot start, has the status `not_found`.
///
/// Throws `value_error` for no command, `data_error` where there is no room for temporary files.
[[nodiscard]] inline program_result run_program(const std::vector<std::string>& command,
                                                std::string_view input = {}) {
  require<value_error>(!command.empty(), "run_program: expected a program and its arguments");
  std::array<detail::unnamed_file, 3> files;
  files[0].write(input);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // as execv declares them
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int stream = 0; stream < 3; ++stream) {
    posix_spawn_file_actions_adddup2(&actions, files[static_cast<std::size_t>(stream)].number(),
                                     stream);
  }
  pid_t child = 0;
  const int failure =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return {.status = program_result::not_found, .output = {}, .errors = {}};
  }
  int ended = 0;  // stays where the program ignores its children's ends, and none is told
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return {.status =
              WIFSIGNALED(ended) ? program_result::signalled + WTERMSIG(ended) : WEXITSTATUS(ended),
          .output = files[1].read(),
          .errors = files[2].read()};
}

}  // namespace glia
