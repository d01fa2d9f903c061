#pragma once

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "command.hpp"

/// Returns the long names of a command's options, separated by spaces.
[[nodiscard]] inline std::string option_names(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names += (names.empty() ? "--" : " --") + name;
    }
  }
  return names;
}

/// Prints a script with which Bash completes the subcommands, their options and names of files.
inline int print_completion(const CLI::App& app) {
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  std::string names;
  std::string cases;
  for (const CLI::App* command : subcommands) {
    names += (names.empty() ? "" : " ") + command->get_name();
    cases += "    " + command->get_name() + ") options='" + option_names(*command) + "' ;;\n";
  }
  std::cout << "_glia() {\n"
               "  local word=${COMP_WORDS[COMP_CWORD]} options='"
            << option_names(app)
            << "'\n"
               "  if [[ $COMP_CWORD -eq 1 && $word != -* ]]; then\n"
               "    mapfile -t COMPREPLY < <(compgen -W '"
            << names
            << "' -- \"$word\")\n"
               "    return\n"
               "  fi\n"
               "  case ${COMP_WORDS[1]} in\n"
            << cases
            << "  esac\n"
               "  if [[ $word == -* ]]; then\n"
               "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
               "  else\n"
               "    compopt -o filenames\n"
               "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
               "  fi\n"
               "}\n"
               "complete -F _glia glia\n";
  return exit_fine;
}

inline void add_completion(CLI::App& app, command_action& action) {
  CLI::App* const command =
      app.add_subcommand("completion", "Print a script that completes commands in Bash");
  command->callback([&action, &app] { action = [&app] { return print_completion(app); }; });
  command->footer(
      "Examples:\n"
      "  source <(glia completion)\n"
      "  glia completion > ~/.local/share/bash-completion/completions/glia");
}
