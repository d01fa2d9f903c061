#pragma once

#if defined(_WIN32)
#include "glia/core/platform/windows_api.hpp"
#elif !defined(__wasm__)
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <cstdint>

namespace glia::platform {

/// The streams that every program has.
enum class standard_stream : std::uint8_t { input, output, errors };

#if defined(_WIN32)
namespace windows {
[[nodiscard]] inline HANDLE handle_of(standard_stream stream) {
  return GetStdHandle(stream == standard_stream::input    ? STD_INPUT_HANDLE
                      : stream == standard_stream::output ? STD_OUTPUT_HANDLE
                                                          : STD_ERROR_HANDLE);
}
}  // namespace windows
#endif

/// Returns whether a stream belongs to a terminal that understands escape sequences. On Windows,
/// this turns them on for the terminals of `output` and `errors`.
[[nodiscard]] inline bool is_terminal(standard_stream stream) {
#if defined(_WIN32)
  const HANDLE console = windows::handle_of(stream);
  DWORD mode = 0;
  return GetConsoleMode(console, &mode) != 0 &&
         (stream == standard_stream::input ||
          SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING) != 0);
#elif defined(__wasm__)
  static_cast<void>(stream);
  return false;
#else
  return ::isatty(static_cast<int>(stream)) != 0;
#endif
}

/// Returns the current width of the terminal of a stream, in columns; 0 if it is not known.
[[nodiscard]] inline std::size_t terminal_columns(standard_stream stream) {
#if defined(_WIN32)
  CONSOLE_SCREEN_BUFFER_INFO screen{};
  return GetConsoleScreenBufferInfo(windows::handle_of(stream), &screen) != 0
             ? static_cast<std::size_t>(screen.srWindow.Right - screen.srWindow.Left + 1)
             : 0;
#elif defined(__wasm__)
  static_cast<void>(stream);
  return 0;
#else
  winsize size{};
  return ::ioctl(static_cast<int>(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
#endif
}

/// Whether a stream is open. If it is closed, the next file that a program opens takes its place.
[[nodiscard]] inline bool is_open(standard_stream stream) {
#if defined(_WIN32)
  const HANDLE handle = windows::handle_of(stream);
  return handle != nullptr && handle != INVALID_HANDLE_VALUE;
#elif defined(__wasm__)
  static_cast<void>(stream);
  return true;
#else
  return ::fcntl(static_cast<int>(stream), F_GETFD) >= 0;
#endif
}

}  // namespace glia::platform
