// Describes, runs, evaluates, converts, quantizes and measures networks in files.
//
//     examples/run glia info net.onnx
//     examples/run glia predict net.onnx photo.jpg
//     examples/run glia evaluate net.safetensors --csv digits.csv --targets classes.csv
//     examples/run glia --help
//
// A network is an ONNX file, or a file that glia::save wrote. Results are text, or JSON with
// --json. docs/examples/glia.md shows each subcommand.

#include <CLI/CLI.hpp>
#include <glia/core/error.hpp>
#include <glia/core/version.hpp>
#include <iostream>
#include <string>

#include "../../program.hpp"
#include "bench.hpp"
#include "command.hpp"
#include "completion.hpp"
#include "convert.hpp"
#include "doctor.hpp"
#include "evaluate.hpp"
#include "info.hpp"
#include "predict.hpp"
#include "quantize.hpp"
#include "summary.hpp"

int run(int argc, char** argv) {
  CLI::App app{"Describe, run, evaluate, convert, quantize and measure neural networks in files",
               "glia"};
  app.set_version_flag("--version", "glia " + glia::detail::version_text());
  app.require_subcommand(1);
  app.footer(
      "glia SUBCOMMAND --help explains a subcommand and shows examples.\n\n"
      "Exit codes: 0 success; 1 wrong data, or a check that failed; 2 wrong usage.\n"
      "Results go to the standard output, errors to the standard error.");
  command_action action;
  add_info(app, action);
  add_summary(app, action);
  add_predict(app, action);
  add_evaluate(app, action);
  add_convert(app, action);
  add_quantize(app, action);
  add_bench(app, action);
  add_doctor(app, action);
  add_completion(app, action);
  const auto is_called = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_called).empty()) {
    std::cerr << "glia: there is no subcommand '" << argv[1] << "'; glia --help lists them\n";
    return exit_wrong_usage;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help or --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::cerr << "glia: " << one_line(e.what()) << "; glia SUBCOMMAND --help lists the options\n";
    return exit_wrong_usage;
  }
  try {
    return action();
  } catch (const usage_error& e) {
    std::cerr << "glia: " << one_line(e.what()) << '\n';
    return exit_wrong_usage;
  } catch (const glia::error& e) {
    throw glia::data_error(one_line(e.what()));
  }
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("glia", argc, argv, &run);
}
