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

namespace glia::plot {

/// The exit status and the output of a program.
struct program_result {
  static constexpr int not_found = 127;  ///< the same as in shells
  static constexpr int signaled = 128;   ///< a signal's number is added to this

  int status = 0;
  std::string output;
  std::string errors;
};

namespace detail {

/// A temporary file that is deleted with this object. Programs get files instead of pipes. Then
/// neither program waits for the other, and there is no SIGPIPE if a program does not read its
/// input.
class unnamed_file {
 public:
  unnamed_file() : file_(std::tmpfile()) {
    require<data_error>(
        file_ != nullptr,
        "run_program: cannot create a temporary file; check that the disk is not full "
        "and that /tmp is writable");
    // The number must be above the numbers 0 to 2 of the standard streams, which it replaces in the
    // program. Other programs must not inherit it.
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
    require<data_error>(
        whole, "run_program: cannot write a temporary file; check that the disk is not full");
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

/// Runs a program, waits for its end and returns its status and output. The program is found by
/// PATH unless its name contains a slash. No shell interprets its arguments. `input` is its
/// standard input. The status is `not_found` if the program does not exist or cannot be started.
///
/// Throws `value_error` if `command` is empty, and `data_error` if temporary files cannot be
/// written.
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
  int ended = 0;  // stays 0 if this process ignores SIGCHLD
  while (waitpid(child, &ended, 0) < 0 && errno == EINTR) {
  }
  return {.status =
              WIFSIGNALED(ended) ? program_result::signaled + WTERMSIG(ended) : WEXITSTATUS(ended),
          .output = files[1].read(),
          .errors = files[2].read()};
}

}  // namespace glia::plot
