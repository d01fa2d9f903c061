#pragma once

#include <csignal>
#include <glia/core/platform/child_program.hpp>
#include <glia/core/platform/process.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "posix.hpp"

#if GLIA_TEST_HAS_POSIX
#include <spawn.h>
#endif

namespace test {

/// A program that runs beside the test.
class child_process {
 public:
#if GLIA_TEST_HAS_POSIX
  explicit child_process(std::vector<std::string> command) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (std::string& argument : command) {
      arguments.push_back(argument.data());
    }
    arguments.push_back(nullptr);
    if (posix_spawn(&id_, arguments[0], nullptr, nullptr, arguments.data(),
                    glia::platform::posix::environment()) != 0) {
      throw std::runtime_error(command[0] + " cannot be started");
    }
  }

  void kill() const { ::kill(id_, SIGKILL); }
  /// Does what Ctrl-C does.
  void interrupt() const { ::kill(id_, SIGINT); }
  /// Whether `interrupt` reaches programs. On Windows, only those with a console are.
  [[nodiscard]] static bool can_interrupt() { return true; }

  /// Waits for the end: what the program returned, or `killed` or `interrupted`.
  [[nodiscard]] int wait() const {
    int status = 0;
    if (waitpid(id_, &status, 0) != id_) {
      throw std::runtime_error("a program cannot be waited for");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  static constexpr int killed = -SIGKILL;
  static constexpr int interrupted = -SIGINT;

 private:
  pid_t id_ = 0;
#else
  explicit child_process(const std::vector<std::string>& command) {
    std::wstring line;
    for (const std::string& argument : command) {
      line += L'"' + glia::detail::utf8_path(argument).native() + L"\" ";
    }
    STARTUPINFOW start{};
    start.cb = sizeof(start);
    PROCESS_INFORMATION child{};
    // Only a group of its own can be interrupted without this program.
    const auto started = [&] {
      return CreateProcessW(nullptr, line.data(), nullptr, nullptr, FALSE, CREATE_NEW_PROCESS_GROUP,
                            nullptr, nullptr, &start, &child) != 0;
    };
    // Of some hundred programs, Wine 8 ends one before it starts, with this error.
    if (!started() && (GetLastError() != ERROR_INTERNAL_ERROR || !started())) {
      throw std::runtime_error(command[0] + " cannot be started: error " +
                               std::to_string(GetLastError()));
    }
    CloseHandle(child.hThread);
    process_ = child.hProcess;
    id_ = child.dwProcessId;
  }

  void kill() const { TerminateProcess(process_, killed); }
  void interrupt() const {
    if (GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, id_) == 0) {
      throw std::runtime_error("Ctrl-Break cannot be sent: error " +
                               std::to_string(GetLastError()));
    }
  }
  [[nodiscard]] static bool can_interrupt() {
    DWORD programs = 0;
    return GetConsoleProcessList(&programs, 1) > 0;
  }

  [[nodiscard]] int wait() const {
    DWORD status = 0;
    WaitForSingleObject(process_, INFINITE);
    GetExitCodeProcess(process_, &status);
    CloseHandle(process_);
    return static_cast<int>(status);
  }

  static constexpr int killed = 137;
  static constexpr int interrupted = static_cast<int>(0xC000013A);  // STATUS_CONTROL_C_EXIT

 private:
  HANDLE process_ = nullptr;
  DWORD id_ = 0;
#endif
};

}  // namespace test
