#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
#elif !defined(__wasm__)
#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#endif

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "glia/core/platform/file.hpp"

namespace glia::platform {

/// Status of a program that could not be started, as in shells.
inline constexpr int program_not_found = 127;
/// Status of a program that a signal ended: this plus the number of the signal, as in shells.
inline constexpr int program_signaled = 128;

/// Runs a program, waits for its end, and returns its status. `streams` are its standard input,
/// output and errors: files, not pipes. Then neither program waits for the other, and there is no
/// SIGPIPE if a program does not read its input. No shell interprets the arguments.
[[nodiscard]] int run_program(const std::vector<std::string>& command,
                              const std::array<file, 3>& streams);

#if defined(_WIN32)

namespace windows {
/// Returns a command line from which programs read these arguments again.
[[nodiscard]] inline std::wstring command_line(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& argument : command) {
    line += line.empty() ? "\"" : " \"";
    std::size_t backslashes = 0;
    for (const char c : argument) {
      if (c == '"') {
        line.append(backslashes + 1, '\\');
      }
      backslashes = c == '\\' ? backslashes + 1 : 0;
      line += c;
    }
    line.append(backslashes, '\\');
    line += '"';
  }
  std::wstring wide(line.size() + 1, L'\0');
  wide.resize(static_cast<std::size_t>(
      MultiByteToWideChar(CP_UTF8, 0, line.data(), static_cast<int>(line.size()), wide.data(),
                          static_cast<int>(wide.size()))));
  return wide;
}
}  // namespace windows

inline int run_program(const std::vector<std::string>& command,
                       const std::array<file, 3>& streams) {
  STARTUPINFOW start{};
  start.cb = sizeof(start);
  start.dwFlags = STARTF_USESTDHANDLES;
  std::array<HANDLE, 3> handles{};
  for (std::size_t i = 0; i < 3; ++i) {
    const HANDLE stream = windows::handle_of(streams[i].handle());
    SetFilePointer(stream, 0, nullptr, FILE_BEGIN);
    DuplicateHandle(GetCurrentProcess(), stream, GetCurrentProcess(), &handles[i], 0, TRUE,
                    DUPLICATE_SAME_ACCESS);
  }
  start.hStdInput = handles[0];
  start.hStdOutput = handles[1];
  start.hStdError = handles[2];
  PROCESS_INFORMATION child{};
  std::wstring line = windows::command_line(command);
  const bool started = CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, 0, nullptr,
                                      nullptr, &start, &child) != 0;
  for (const HANDLE handle : handles) {
    CloseHandle(handle);
  }
  if (!started) {
    return program_not_found;
  }
  WaitForSingleObject(child.hProcess, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(child.hProcess, &status);
  CloseHandle(child.hThread);
  CloseHandle(child.hProcess);
  return static_cast<int>(status);
}

#elif defined(__wasm__)

inline int run_program(const std::vector<std::string>& /*command*/,
                       const std::array<file, 3>& /*streams*/) {
  return program_not_found;
}

#else

inline int run_program(const std::vector<std::string>& command,
                       const std::array<file, 3>& streams) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));  // as execv declares them
  }
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  std::array<int, 3> numbers{};
  for (std::size_t i = 0; i < 3; ++i) {
    // The number must be above the numbers 0 to 2 of the standard streams, which it replaces in the
    // program.
    numbers[i] = ::fcntl(static_cast<int>(streams[i].handle()), F_DUPFD_CLOEXEC, 3);
    ::posix_spawn_file_actions_adddup2(&actions, numbers[i], static_cast<int>(i));
  }
  pid_t child = 0;
  const int failure =
      ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  for (const int number : numbers) {
    ::close(number);
  }
  if (failure != 0) {
    return program_not_found;
  }
  int status = 0;  // stays 0 if this process ignores SIGCHLD
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? program_signaled + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif

}  // namespace glia::platform
