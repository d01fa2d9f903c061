#pragma once

#include <cstdlib>
#include <filesystem>
#include <glia/plot/run_program.hpp>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// The first Python that has a package: $GLIA_TEST_PYTHON, else that of tests/python/setup, else
/// the system's. None where no such Python has it.
inline std::optional<std::string> python_with(const std::string& package) {
  const std::filesystem::path folder = std::filesystem::path(__FILE__).parent_path();
  const char* chosen = std::getenv("GLIA_TEST_PYTHON");
  const std::vector<std::string> candidates =
      chosen != nullptr
          ? std::vector<std::string>{chosen}
          : std::vector<std::string>{(folder / "../build/python/bin/python").string(), "python3"};
  for (const std::string& python : candidates) {
    if (glia::plot::run_program({python, "-c", "import " + package}).status == 0) {
      return python;
    }
  }
  return std::nullopt;
}

inline std::string no_python_with(const std::string& package) {
  return "no Python with the package " + package + "; run tests/python/setup";
}

/// Runs one of the programs in tests/python/.
inline glia::plot::program_result run_python(const std::string& python, const std::string& program,
                                             const std::vector<std::string>& arguments) {
  const auto path = std::filesystem::path(__FILE__).parent_path() / "python" / program;
  std::vector<std::string> command{python, path.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return glia::plot::run_program(command);
}

}  // namespace test
