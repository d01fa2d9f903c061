#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "onnx/models.hpp"
#include "onnx/refused_cases.hpp"
#include "onnx/standard_cases.hpp"

namespace {

using kind = test::standard::outcome::kind;

struct counts {
  int passed = 0;
  int refused = 0;
  int failed = 0;
  void add(kind status) {
    ++(status == kind::passed ? passed : status == kind::refused ? refused : failed);
  }
};

std::vector<std::filesystem::path> cases_of(const std::string& group) {
  std::vector<std::filesystem::path> cases;
  for (const auto& entry : std::filesystem::directory_iterator(test::standard::folder / group)) {
    cases.push_back(entry.path());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

/// What becomes of a case on the cpu, by the kernel for recurrences and step by step.
test::standard::outcome outcome_of(const std::filesystem::path& directory) {
  const ::onnx::ModelProto message = test::onnx_message_in(directory / "model.onnx");
  test::standard::outcome result{kind::passed, ""};
  for (const bool whole : {true, false}) {
    const auto attempt = test::standard::is_in_double(message.graph())
                             ? test::standard::run(directory, glia::cpu<double>{}, whole)
                             : test::standard::run(directory, glia::cpu<float>{}, whole);
    if (attempt.status != kind::passed) {
      result = attempt;
    }
  }
  return result;
}

bool is_there() { return std::filesystem::exists(test::standard::folder); }

/// Cases of which the numbers are others on purpose.
const std::set<std::string> decided_otherwise{
    // They cut numbers off, which later versions of the cases round to bfloat16.
    "node/test_cast_FLOAT_to_BFLOAT16", "node/test_castlike_FLOAT_to_BFLOAT16",
    "node/test_castlike_FLOAT_to_BFLOAT16_expanded",
    // The last corner is that of the extent before it is rounded down. For PyTorch, which exports
    // such files, and for ONNX Runtime it is that of the extent which comes out.
    "node/test_resize_downsample_scales_cubic_align_corners",
    "node/test_resize_downsample_scales_linear_align_corners"};

constexpr const char* groups[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};

/// The number of cases of libonnx-testdata 1.12, whose refused ones are listed.
constexpr std::size_t listed_cases = 1072;

constexpr const char* not_there =
    "the ONNX project's cases are not there: apt-get install libonnx-testdata";

}  // namespace

TEST_CASE("ONNX's own cases give what they must, or are refused") {
  if (!is_there()) {
    GLIA_SKIP(not_there);
  }
  std::set<std::string> refused;
  std::size_t count = 0;
  for (const char* const group : groups) {
    for (const auto& directory : cases_of(group)) {
      const auto found = outcome_of(directory);
      INFO(directory.filename().string() << ": " << found.reason);
      const std::string name = glia::text(group, '/', directory.filename().string());
      CHECK((found.status == kind::failed) == decided_otherwise.contains(name));
      ++count;
      if (found.status == kind::refused) {
        refused.insert(name);
      }
    }
  }
  if (count != listed_cases) {
    GLIA_SKIP(glia::text("there are ", count, " cases, not the ", listed_cases,
                         " of libonnx-testdata 1.12, whose refused cases are listed"));
  }
  CHECK(test::changes_of_refused_cases(refused, "refused_standard_cases.txt") == "");
}

TEST_CASE("ONNX's own cases of the reference backend", "[.reference]") {
  for (const auto& directory : cases_of("node")) {
    const auto found = test::standard::run(directory, glia::reference<float>{}, false);
    INFO(directory.filename().string() << ": " << found.reason);
    CHECK((found.status != kind::failed ||
           decided_otherwise.contains("node/" + directory.filename().string()) ||
           test::standard::is_in_double(test::onnx_message_in(directory / "model.onnx").graph())));
  }
}

// What docs/how_to/onnx.md shows: build/tests/glia_tests "[onnx-table]"
TEST_CASE("a table of ONNX's own cases", "[.onnx-table]") {
  std::map<std::string, counts> table;
  for (const char* const group : groups) {
    for (const auto& directory : cases_of(group)) {
      const ::onnx::GraphProto graph = test::onnx_message_in(directory / "model.onnx").graph();
      const auto found = outcome_of(directory);
      if (found.status != kind::passed) {
        std::cout << group << '/' << directory.filename().string() << ": " << found.reason << '\n';
      }
      table[std::string(group) + ", all"].add(found.status);
      if (test::standard::is_in_float(graph)) {
        table[std::string(group) + ", in float"].add(found.status);
      }
      if (std::string(group) == "node" && graph.node_size() == 1) {
        table["operator " + graph.node(0).op_type()].add(found.status);
      }
    }
  }
  std::cout << "| cases | passed | refused | failed |\n| --- | --- | --- | --- |\n";
  for (const auto& [name, c] : table) {
    std::cout << "| " << name << " | " << c.passed << " | " << c.refused << " | " << c.failed
              << " |\n";
  }
}
