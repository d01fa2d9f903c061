// Compares the kernels of a device with the reference backend and prints a JSON line for each case.
// --part 2 --parts 8 runs every eighth case, starting at the third: processes can share the suite.

#include <glia/testing/conformance.hpp>

#include "../report.hpp"

int main(int argc, char** argv) try {
  device_choice device{.threads = 1, .full_precision = true};
  std::size_t part = 0;
  std::size_t parts = 1;
  CLI::App app{"Compares each kernel of a device with the reference backend"};
  add_device_options(app, device);
  app.add_option("--part", part);
  app.add_option("--parts", parts)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  const auto print = [](const glia::testing::conformance_result& result) {
    report::print({{"case", result.name},
                   {"error", result.error},
                   {"operands_kept", result.operands_kept},
                   {"reuse_agrees", result.reuse_agrees}});
  };
  (void)glia::testing::run_conformance(make_device(device),
                                       {.part = part, .parts = parts, .report = print});
} catch (const glia::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
