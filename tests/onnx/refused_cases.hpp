#pragma once

#include <fstream>
#include <set>
#include <string>

#include "onnx/models.hpp"

namespace test {

/// Says how the refused cases differ from those that a file in tests/onnx lists, and what to do
/// about it. Nothing if they are the same. A line of the file is the name of a case, or the name, a
/// colon and the reason; lines that start with # are comments.
inline std::string changes_of_refused_cases(const std::set<std::string>& refused,
                                            const std::string& list) {
  std::ifstream file(onnx_folder().parent_path() / list);
  std::set<std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) {
      listed.insert(line.substr(0, line.find(':')));
    }
  }
  std::string changes;
  for (const std::string& name : refused) {
    if (!listed.contains(name)) {
      changes += "\n  refused now: " + name +
                 "; mend what refuses it, or add this line if that is " + "intended";
    }
  }
  for (const std::string& name : listed) {
    if (!refused.contains(name)) {
      changes += "\n  no longer refused: " + name + "; delete this line, and count anew in " +
                 "docs/how_to/onnx.md";
    }
  }
  return changes.empty() ? "" : "tests/onnx/" + list + ":" + changes;
}

}  // namespace test
