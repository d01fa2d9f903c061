#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <glia/kernels/kernels.hpp>
#include <map>
#include <set>
#include <string>
#include <type_traits>

#include "catch.hpp"

namespace {

using glia::kernel_list;

/// The cells of a row of a kernel in docs/reference/kernels.md, without the first one.
struct kernel_row {
  std::string operands;
  std::string results;
  std::string purpose;
  std::string derivative;
};

/// The rows of the tables under a heading of docs/reference/kernels.md, by the names of the
/// kernels.
std::map<std::string, kernel_row> rows_under(const std::string& heading) {
  const auto root = std::filesystem::path(GLIA_EXAMPLE_DATA).parent_path().parent_path();
  std::ifstream page(root / "docs" / "reference" / "kernels.md");
  REQUIRE(page);
  std::map<std::string, kernel_row> rows;
  std::string current_heading;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) {
      current_heading = line.substr(3);
    }
    if (current_heading != heading || !line.starts_with("| `")) {
      continue;
    }
    std::array<std::string, 5> cells;
    std::size_t begin = 2;
    for (std::string& cell : cells) {
      const std::size_t end = line.find(" |", begin);
      REQUIRE(end != std::string::npos);
      cell = line.substr(begin, end - begin);
      begin = end + 3;
    }
    INFO(line);
    CHECK(begin > line.size());  // no further cell
    const std::string name = cells[0].substr(1, cells[0].size() - 2);
    CHECK(rows.emplace(name, kernel_row{cells[1], cells[2], cells[3], cells[4]}).second);
  }
  return rows;
}

/// How many tensors a cell names; each name is in backticks.
std::size_t named_tensors(const std::string& cell) {
  return static_cast<std::size_t>(std::count(cell.begin(), cell.end(), '`')) / 2;
}

template <class K>
void check_row(const kernel_row& row) {
  INFO(K::name);
  if (row.operands.find("up to") == std::string::npos) {
    CHECK(named_tensors(row.operands) == K::operands);
  }
  CHECK(named_tensors(row.results) == K::results);
  CHECK(!row.purpose.empty());
  CHECK(row.derivative.starts_with(glia::differentiable<K> ? "yes" : "no"));
}

template <class... Kernels>
void check_rows(const std::map<std::string, kernel_row>& rows, kernel_list<Kernels...>) {
  std::set<std::string> listed;
  for (const auto& entry : rows) {
    listed.insert(entry.first);
  }
  CHECK(listed == std::set<std::string>{std::string(Kernels::name)...});
  (check_row<Kernels>(rows.contains(std::string(Kernels::name))
                          ? rows.at(std::string(Kernels::name))
                          : kernel_row{}),
   ...);
}

}  // namespace

TEST_CASE("the tables of the reference have all kernels, with their operands and results") {
  check_rows(rows_under("Basic kernels"), glia::basic_kernels{});
  check_rows(rows_under("Fused kernels"), glia::fused_kernels{});
}
