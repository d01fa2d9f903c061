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
#if defined(__APPLE__)
#include <crt_externs.h>
#endif
#endif

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "glia/core/platform/file.hpp"
#include "glia/core/utf8_path.hpp"

namespace glia::platform {

/// Status of a program that could not be started, as in shells.
inline constexpr int program_not_found = 127;
/// Status of a program that a signal ended: this plus the number of the signal, as in shells.
inline constexpr int program_signaled = 128;

/// Runs a program, waits for its end, and returns its status. `streams` are its standard input,
/// output and errors: files, not pipes. Then neither program waits for the other, and there is no
/// SIGPIPE if a program does not read its input. No shell interprets the arguments. A program
/// without a folder in its name is searched for in the folders of PATH alone.
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
  return glia::detail::utf8_path(line).native();
}

/// Returns the file of a program; empty if it is not there. CreateProcessW would also look into the
/// current folder, which may contain anything.
[[nodiscard]] inline std::wstring program_in_path(const std::filesystem::path& name) {
  constexpr DWORD most = 32768;  // the longest value of a variable
  std::wstring folders(most, L'\0');
  folders.resize(GetEnvironmentVariableW(L"PATH", folders.data(), most));
  std::wstring file(most, L'\0');
  file.resize(SearchPathW(name.has_parent_path() ? nullptr : folders.c_str(), name.c_str(), L".exe",
                          most, file.data(), nullptr));
  return file;
}
}  // namespace windows

inline int run_program(const std::vector<std::string>& command,
                       const std::array<file, 3>& streams) {
  STARTUPINFOW start{};
  start.cb = sizeof(start);
  start.dwFlags = STARTF_USESTDHANDLES;
  std::array<HANDLE, 3> handles{};
  bool complete = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const HANDLE stream = windows::handle_of(streams[i].handle());
    SetFilePointer(stream, 0, nullptr, FILE_BEGIN);
    complete = DuplicateHandle(GetCurrentProcess(), stream, GetCurrentProcess(), &handles[i], 0,
                               TRUE, DUPLICATE_SAME_ACCESS) != 0 &&
               complete;
  }
  start.hStdInput = handles[0];
  start.hStdOutput = handles[1];
  start.hStdError = handles[2];
  PROCESS_INFORMATION child{};
  std::wstring line = windows::command_line(command);
  const std::wstring program = windows::program_in_path(glia::detail::utf8_path(command[0]));
  const bool started = complete && !program.empty() &&
                       CreateProcessW(program.c_str(), line.data(), nullptr, nullptr, TRUE, 0,
                                      nullptr, nullptr, &start, &child) != 0;
  for (const HANDLE handle : handles) {
    if (handle != nullptr) {
      CloseHandle(handle);
    }
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

namespace posix {
/// The variables that this program passes on to those that it starts.
[[nodiscard]] inline char** environment() {
#if defined(__APPLE__)
  return *::_NSGetEnviron();
#else
  return ::environ;
#endif
}
}  // namespace posix

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
  bool complete = true;
  for (std::size_t i = 0; i < 3; ++i) {
    // The number must be above the numbers 0 to 2 of the standard streams, which it replaces in the
    // program.
    numbers[i] = ::fcntl(static_cast<int>(streams[i].handle()), F_DUPFD_CLOEXEC, 3);
    complete = numbers[i] >= 0 &&
               ::posix_spawn_file_actions_adddup2(&actions, numbers[i], static_cast<int>(i)) == 0 &&
               complete;
  }
  pid_t child = 0;
  const bool started = complete && ::posix_spawnp(&child, arguments[0], &actions, nullptr,
                                                  arguments.data(), posix::environment()) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  for (const int number : numbers) {
    if (number >= 0) {
      ::close(number);
    }
  }
  if (!started) {
    return program_not_found;
  }
  int status = 0;  // stays 0 if this process ignores SIGCHLD
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? program_signaled + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif

}  // namespace glia::platform
