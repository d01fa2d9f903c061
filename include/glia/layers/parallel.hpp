#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "glia/layers/scope.hpp"
#include "glia/ops/arrangement.hpp"
#include "glia/ops/elementwise.hpp"

namespace glia {

/// The ways to join the outputs of the branches of `parallel`.
namespace join {

namespace detail {

/// Throws `shape_error` unless the outputs of all branches have the same shape.
inline void expect_alike(const scope& s, const std::vector<variable>& branches) {
  for (std::size_t i = 1; i < branches.size(); ++i) {
    s.expect(branches[i].shape() == branches[0].shape(), "expected branches with outputs of the ",
             "same shape, since they are added or multiplied; branch [0] ends in ",
             batch_text(branches[0].shape()), ", branch [", i, "] in ",
             batch_text(branches[i].shape()));
  }
}

}  // namespace detail

/// Concatenates the outputs of the branches along an axis. This is the default join of `parallel`.
///
/// Throws `shape_error` if the outputs differ along another axis, or if they do not have this axis.
struct concat {
  static constexpr std::string_view stored_type = "concat";

  int axis = -1;  ///< Axis, at least 1 (0 is the batch axis); -1 means the last axis (channels).

  [[nodiscard]] variable operator()(scope& s, std::vector<variable> branches) const {
    const shape& first = branches.front().shape();
    const auto rank = static_cast<int>(first.rank());
    const int concat_axis = axis < 0 ? axis + rank : axis;
    s.expect(concat_axis > 0 && concat_axis < rank, "cannot concatenate branches with outputs ",
             batch_text(first), " along axis ", axis, "; expected an axis from 1 to ", rank - 1,
             ", or -1 for the last one");
    const auto axis_index = static_cast<std::size_t>(concat_axis);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      const shape& other = branches[i].shape();
      shape expected = first;
      expected[axis_index] = other.rank() == first.rank() ? other[axis_index] : 0;
      s.expect(other == expected, "expected branches that differ only along axis ", axis,
               ", since they are concatenated; branch [0] ends in ", batch_text(first),
               ", branch [", i, "] in ", batch_text(other));
    }
    return ops::concat(branches, concat_axis);
  }
  [[nodiscard]] std::string description() const {
    return axis == -1 ? "concat" : text("concat along ", axis);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("axis", self.axis);
  }

  friend bool operator==(const concat&, const concat&) = default;
};

/// Adds the outputs of the branches. Throws `shape_error` if their shapes differ.
struct add {
  static constexpr std::string_view stored_type = "add";

  [[nodiscard]] variable operator()(scope& s, std::vector<variable> branches) const {
    detail::expect_alike(s, branches);
    variable sum = std::move(branches[0]);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      sum = sum + branches[i];
    }
    return sum;
  }
  [[nodiscard]] std::string description() const { return "add"; }
  friend bool operator==(const add&, const add&) = default;
};

/// Multiplies the outputs of the branches, element by element. Throws `shape_error` if their shapes
/// differ.
struct multiply {
  static constexpr std::string_view stored_type = "multiply";

  [[nodiscard]] variable operator()(scope& s, std::vector<variable> branches) const {
    detail::expect_alike(s, branches);
    variable product = std::move(branches[0]);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      product = product * branches[i];
    }
    return product;
  }
  [[nodiscard]] std::string description() const { return "multiply"; }
  friend bool operator==(const multiply&, const multiply&) = default;
};

/// Returns the output of one branch, with the mask of its steps. The other branches can store a
/// `context` for it.
///
/// Throws `value_error` if there is no branch of this index.
struct branch {
  static constexpr std::string_view stored_type = "branch";

  std::size_t index = 0;  ///< Index of the branch, from 0.

  [[nodiscard]] variable operator()(scope& s, std::vector<variable> branches) const {
    s.expect_value(index < branches.size(), "expected a branch from 0 to ", branches.size() - 1,
                   " in join::branch, got ", index);
    return std::move(branches[index]);
  }
  /// Returns the mask of the joined output, given the masks of the branches.
  [[nodiscard]] tensor step_mask(std::span<const tensor> masks) const {
    return index < masks.size() ? masks[index] : tensor{};
  }
  [[nodiscard]] std::string description() const { return text("branch ", index); }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("index", self.index);
  }

  friend bool operator==(const branch&, const branch&) = default;
};

/// Joins the outputs of the branches by a function of a vector of variables.
///
///     glia::join::lambda{"gated",
///                        [](const auto& y) { return y[0] * glia::ops::sigmoid(y[1]); }}
///
/// Two joins are equal if their names and types are equal, since functions cannot be compared.
template <class Function>
struct lambda {
  std::string name;   ///< Name in descriptions.
  Function function;  ///< Function of a vector with the outputs of the branches.

  [[nodiscard]] variable operator()(scope&, const std::vector<variable>& branches) const {
    return function(branches);
  }
  [[nodiscard]] std::string description() const { return name; }
  friend bool operator==(const lambda& a, const lambda& b) { return a.name == b.name; }
};

template <class Function>
lambda(const char*, Function) -> lambda<Function>;
template <class Function>
lambda(std::string, Function) -> lambda<Function>;

}  // namespace join

/// A join: a function object that combines the outputs of several branches into one variable.
template <class J>
concept branch_join = std::copy_constructible<J> && described<J> &&
    requires(const J& j, scope& s, std::vector<variable> branches) {
  { j(s, branches) } -> std::same_as<variable>;
};

namespace detail {

/// Collects the outputs of branches. Every branch starts with the same mask. A step of the joined
/// output is padding if it is padding in any branch, unless the join has its own `step_mask`.
class branch_outputs {
 public:
  explicit branch_outputs(scope& s)
      : scope_(&s), initial_mask_(s.step_mask()), initial_origin_(s.input_origin()) {}

  template <class Run>
  void add(const Run& run) {
    scope_->set_step_mask(initial_mask_);
    scope_->set_input_origin(initial_origin_);
    outputs_.push_back(run());
    masks_.push_back(scope_->step_mask());
  }
  [[nodiscard]] std::size_t size() const { return outputs_.size(); }

  template <branch_join Join>
  [[nodiscard]] variable joined(const Join& join) && {
    if constexpr (requires { join.step_mask(masks_); }) {
      scope_->set_step_mask(join.step_mask(masks_));
    } else {
      scope_->set_step_mask(common_mask());
    }
    return join(*scope_, std::move(outputs_));
  }

 private:
  [[nodiscard]] tensor common_mask() const {
    tensor result;
    for (const tensor& mask : masks_) {
      if (mask && result && mask.shape() == result.shape()) {
        result = scope_->device().run(kernels::binary{binary_function::multiply}, result, mask);
      } else if (mask) {
        result = mask;
      }
    }
    return result;
  }

  scope* scope_;
  tensor initial_mask_;
  scope::output_origin initial_origin_;
  std::vector<tensor> masks_;  // one for each branch; empty without a mask
  std::vector<variable> outputs_;
};

}  // namespace detail

/// Runs several layers on the same input and joins their outputs.
///
/// By default the outputs are concatenated along the channels (last axis). To join them in another
/// way, pass a join from `glia::join` as the first argument:
///
///     parallel{conv2d{16, 1}, sequential{conv2d{8, 1}, conv2d{16, 3, 1, same}}}
///     parallel{join::add{}, dense{8}, dense{8}}
///
/// Use `identity` for a branch that returns its input unchanged. Throws `shape_error` if the
/// outputs of the branches cannot be joined.
template <class Join, class... Branches>
class parallel {
 public:
  using contains_layers = void;
  static constexpr std::string_view type_name = "parallel";

  static_assert(branch_join<Join> && (layer<Branches> && ...) && sizeof...(Branches) > 0,
                "parallel: expected layers, such as glia::dense{10}, and optionally a join such as "
                "glia::join::add{} before them");

  // The deduction guides below determine the template arguments.
  explicit constexpr parallel(std::type_identity_t<Join> join,
                              std::type_identity_t<Branches>... branches)
      : join_(std::move(join)), branches_(std::move(branches)...) {}
  explicit constexpr parallel(std::type_identity_t<Branches>... branches)
      : branches_(std::move(branches)...) {}

  [[nodiscard]] variable operator()(scope& s, const variable& x) const {
    detail::branch_outputs outputs(s);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (outputs.add([&] { return s.run(std::get<I>(branches_), x, "parallel", I); }), ...);
    }
    (std::index_sequence_for<Branches...>{});
    return std::move(outputs).joined(join_);
  }

  /// Returns the branches as a tuple.
  [[nodiscard]] const std::tuple<Branches...>& branches() const noexcept { return branches_; }

  [[nodiscard]] std::string description() const {
    return std::apply(
        [&](const auto&... branch) {
          std::string result = join_.description();
          ((result += ", " + branch.description()), ...);
          return "parallel(" + result + ")";
        },
        branches_);
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("join", self.join_);
    visit("branches", self.branches_);
  }

  friend bool operator==(const parallel&, const parallel&) = default;

 private:
  Join join_{};
  std::tuple<Branches...> branches_;
};

template <layer... Branches>
parallel(Branches...) -> parallel<join::concat, Branches...>;
template <branch_join Join, layer... Branches>
parallel(Join, Branches...) -> parallel<Join, Branches...>;

}  // namespace glia
