#include <algorithm>
#include <array>
#include <iostream>
#include <map>
#include <set>
#include <string>

#include "catch.hpp"
#include "onnx/models.hpp"
#include "onnx/operator_cases.hpp"
#include "onnx/refused_cases.hpp"

namespace {

std::filesystem::path beside_models(const std::string& name) {
  return test::onnx_folder().parent_path() / name;
}

}  // namespace

TEST_CASE("each ONNX operator gives what its definition says, at the edges as well") {
  const test::temporary_folder scratch;
  std::set<std::string> refused;
  std::size_t passed = 0;
  test::for_each_operator_case(
      beside_models("operator_cases.bin.gz"), [&](const test::operator_case& test_case) {
        const auto found = test::outcome_of(test_case, scratch.path() / "one.onnx");
        INFO(test_case.name << ": " << found.reason);
        CHECK(found.status != test::operator_outcome::kind::failed);
        passed += found.status == test::operator_outcome::kind::passed ? 1 : 0;
        if (found.status == test::operator_outcome::kind::refused) {
          // By name, with a reason.
          CHECK(found.reason.find(test_case.operation()) != std::string::npos);
          refused.insert(test_case.name);
        }
      });
  CHECK(passed > 6000);
  CHECK(test::changes_of_refused_cases(refused, "refused_operator_cases.txt") == "");
}

// What docs/how_to/onnx.md shows: build/tests/glia_tests "[onnx-operators]"
TEST_CASE("a table of ONNX's operators", "[.onnx-operators]") {
  const test::temporary_folder scratch;
  std::map<std::string, std::array<int, 3>> table;
  test::for_each_operator_case(
      beside_models("operator_cases.bin.gz"), [&](const test::operator_case& test_case) {
        const auto found = test::outcome_of(test_case, scratch.path() / "one.onnx");
        ++table[test_case.operation()].at(static_cast<std::size_t>(found.status));
        if (found.status != test::operator_outcome::kind::passed) {
          std::cout << test_case.name << ": " << found.reason << '\n';
        }
      });
  std::cout << "| operator | passed | refused | failed |\n| --- | --- | --- | --- |\n";
  for (const auto& [name, counts] : table) {
    std::cout << "| " << name << " | " << counts[0] << " | " << counts[1] << " | " << counts[2]
              << " |\n";
  }
}
