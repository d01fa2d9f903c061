#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <glia/core/error.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

/// A JSON document whose members keep their order.
using json_document = nlohmann::ordered_json;

/// The exit codes of the command.
enum exit_code : int { exit_fine = 0, exit_wrong_data = 1, exit_wrong_usage = 2 };

/// Thrown if options do not fit together. The command then ends with `exit_wrong_usage`.
struct usage_error : glia::value_error {
  using value_error::value_error;
};

/// The action that the command line asks for. It returns the exit code.
using command_action = std::function<int()>;

/// Adds a subcommand. If the command line names it, the action calls `run` with the settings.
template <class Settings, class Run>
CLI::App& add_command(CLI::App& app, command_action& action, const std::string& name,
                      const std::string& purpose, std::shared_ptr<Settings> settings,
                      const Run& run) {
  CLI::App* const command = app.add_subcommand(name, purpose);
  command->callback(
      [&action, settings, run] { action = [settings, run] { return run(*settings); }; });
  return *command;
}

inline void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document instead of text");
}

inline void print_json(const json_document& document) {
  std::cout << document.dump(2, ' ', false, json_document::error_handler_t::replace) << '\n';
}

/// A message in one line.
[[nodiscard]] inline std::string one_line(std::string message) {
  message.erase(message.find_last_not_of('\n') + 1);
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message;
}

/// Calls `work`. Errors of glia that do not name the file get its name in front.
template <class Work>
auto naming_file(const std::filesystem::path& path, const Work& work) {
  try {
    return work();
  } catch (const usage_error&) {
    throw;
  } catch (const glia::error& e) {
    const std::string message = e.what();
    throw glia::data_error(message.find(path.string()) == std::string::npos
                               ? path.string() + ": " + message
                               : message);
  }
}
