#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/layers/any_layer.hpp"
#include "glia/layers/inputs.hpp"
#include "glia/layers/outputs.hpp"
#include "glia/layers/parallel.hpp"

// The compositions of `open`, whose layers are known only when the program runs.

namespace glia::detail {

/// A join of any type, as files store it.
using any_join = std::variant<join::concat, join::add, join::multiply, join::branch>;

/// Joins the outputs of branches.
[[nodiscard]] inline variable joined(branch_outputs outputs, const any_join& join) {
  return std::visit([&](const auto& known) { return std::move(outputs).joined(known); }, join);
}
[[nodiscard]] inline std::string description_of(const any_join& join) {
  return std::visit([](const auto& known) { return known.description(); }, join);
}

/// Runs branches as `parallel` does.
struct any_parallel {
  any_join join = {};
  std::vector<any_layer> branches = {};

  using contains_layers = void;
  static constexpr std::string_view type_name = "parallel";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect_value(!branches.empty(), "expected at least one branch");
    branch_outputs outputs(s);
    for (std::size_t i = 0; i < branches.size(); ++i) {
      outputs.add([&] { return branches[i].run(s, x, "parallel", i); });
    }
    return joined(std::move(outputs), join);
  }
  [[nodiscard]] std::string description() const {
    std::string result = description_of(join);
    for (const any_layer& branch : branches) {
      result += ", " + branch.description();
    }
    return "parallel(" + result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("join", self.join);
    visit("branches", self.branches);
  }

  friend bool operator==(const any_parallel&, const any_parallel&) = default;
};

/// Divides samples as `inputs` does.
struct any_inputs {
  any_join join = {};
  std::vector<input<any_layer>> parts = {};

  using contains_layers = void;
  static constexpr std::string_view type_name = "inputs";

  [[nodiscard]] shape sample_shape() const {
    std::size_t elements = 0;
    for (const input<any_layer>& part : parts) {
      elements += part.shape.size();
    }
    return {elements};
  }
  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    expect_rows(s, x, sample_shape());
    std::vector<std::size_t> sizes;
    for (const input<any_layer>& part : parts) {
      sizes.push_back(part.shape.size());
    }
    const std::vector<variable> rows = ops::split(x, 1, sizes);
    branch_outputs outputs(s);
    for (const input<any_layer>& part : parts) {
      outputs.add([&] { return run_input(s, part, rows[outputs.size()]); });
    }
    return joined(std::move(outputs), join);
  }
  [[nodiscard]] std::string description() const {
    std::string result = description_of(join);
    for (const input<any_layer>& part : parts) {
      result += text(", ", part.name, ' ', part.shape, ": ", part.layer.description());
    }
    return "inputs(" + result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("join", self.join);
    visit("inputs", self.parts);
  }

  friend bool operator==(const any_inputs&, const any_inputs&) = default;
};

/// Computes named outputs as `outputs` does.
struct any_outputs {
  std::vector<output<any_layer>> parts = {};

  using contains_layers = void;
  static constexpr std::string_view type_name = "outputs";

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    s.expect_value(!parts.empty(), "expected at least one output");
    branch_outputs rows(s);
    for (const output<any_layer>& part : parts) {
      rows.add([&] { return run_output(s, part, x); });
    }
    return std::move(rows).joined(join::concat{1});
  }
  [[nodiscard]] std::string description() const {
    std::string result;
    for (const output<any_layer>& part : parts) {
      result += text(result.empty() ? "" : ", ", part.name, ": ", part.layer.description());
    }
    return "outputs(" + result + ")";
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("outputs", self.parts);
  }

  friend bool operator==(const any_outputs&, const any_outputs&) = default;
};

}  // namespace glia::detail
