#pragma once

#include <concepts>
#include <cstddef>
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

/// Ways to make one tensor of what the branches of `parallel` give.
namespace join {

namespace detail {

/// Throws `shape_error` unless all branches give the same shape.
template <backend B>
void expect_alike(const scope<B>& s, const std::vector<variable<B>>& branches) {
  for (std::size_t i = 1; i < branches.size(); ++i) {
    s.expect(branches[i].shape() == branches[0].shape(), "its first branch ends in ",
             batch_text(branches[0].shape()), ", branch [", i, "] in ",
             batch_text(branches[i].shape()),
             "; branches that are added or multiplied end in one shape");
  }
}

}  // namespace detail

/// One behind the other along an axis of the samples, counted with that of the batch, or from the
/// end where it is negative: -1 joins channels. Other extents are equal.
struct concat {
  int axis = -1;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, std::vector<variable<B>> branches) const {
    const shape& first = branches.front().shape();
    const auto rank = static_cast<int>(first.rank());
    const int at = axis < 0 ? axis + rank : axis;
    s.expect(at > 0 && at < rank, "cannot join along axis ", axis, " what branches give, ",
             batch_text(first), "; axes of samples are 1 to ", rank - 1, ", or -1 for the last");
    const auto along = static_cast<std::size_t>(at);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      const shape& other = branches[i].shape();
      shape expected = first;
      expected[along] = other.rank() == first.rank() ? other[along] : 0;
      s.expect(other == expected, "its first branch ends in ", batch_text(first), ", branch [", i,
               "] in ", batch_text(other), "; branches joined along axis ", axis,
               " are alike in all others");
    }
    return ops::concat(branches, along);
  }
  [[nodiscard]] std::string description() const {
    return axis == -1 ? "concat" : text("concat along ", axis);
  }
  friend bool operator==(const concat&, const concat&) = default;
};

/// Their sum.
struct add {
  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, std::vector<variable<B>> branches) const {
    detail::expect_alike(s, branches);
    variable<B> sum = std::move(branches[0]);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      sum = std::move(sum) + std::move(branches[i]);
    }
    return sum;
  }
  [[nodiscard]] std::string description() const { return "add"; }
  friend bool operator==(const add&, const add&) = default;
};

/// Their product, element by element.
struct multiply {
  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, std::vector<variable<B>> branches) const {
    detail::expect_alike(s, branches);
    variable<B> product = std::move(branches[0]);
    for (std::size_t i = 1; i < branches.size(); ++i) {
      product = std::move(product) * std::move(branches[i]);
    }
    return product;
  }
  [[nodiscard]] std::string description() const { return "multiply"; }
  friend bool operator==(const multiply&, const multiply&) = default;
};

/// What a function of ops makes of them: with{"gated", [](const auto& y) { return y[0] *
/// glia::sigmoid.apply(y[1]); }}. Compared by name and type, since functions cannot be.
template <class Function>
struct with {
  std::string name;
  Function function;

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>&, const std::vector<variable<B>>& branches) const {
    return function(branches);
  }
  [[nodiscard]] std::string description() const { return name; }
  friend bool operator==(const with& a, const with& b) { return a.name == b.name; }
};

template <class Function>
with(const char*, Function) -> with<Function>;
template <class Function>
with(std::string, Function) -> with<Function>;

}  // namespace join

/// What joins branches: it makes one variable of several.
template <class J>
concept branch_join = std::copy_constructible<J> && described<J> &&
    requires(const J& j, scope<recorder<shapes_only>>& s,
             std::vector<variable<recorder<shapes_only>>> branches) {
  { j(s, branches) } -> std::same_as<variable<recorder<shapes_only>>>;
};

namespace detail {

/// Collects what branches give. Each is told of the same steps as the first; of what is joined
/// those steps are to be passed over that are in any of them.
template <backend B>
class branch_outputs {
 public:
  explicit branch_outputs(scope<B>& s) : scope_(&s), given_(s.step_mask()) {}

  template <class Run>
  void add(const Run& run) {
    scope_->set_step_mask(given_);
    outputs_.push_back(run());
    const auto& mask = scope_->step_mask();
    if (mask && joined_ && mask.shape() == joined_.shape()) {
      joined_ = scope_->device().run(kernels::binary{binary_function::multiply}, joined_, mask);
    } else if (mask) {
      joined_ = mask;
    }
  }
  [[nodiscard]] std::size_t size() const { return outputs_.size(); }

  template <branch_join Join>
  [[nodiscard]] variable<B> joined(const Join& join) && {
    scope_->set_step_mask(std::move(joined_));
    return join(*scope_, std::move(outputs_));
  }

 private:
  scope<B>* scope_;
  typename B::tensor given_;
  typename B::tensor joined_;
  std::vector<variable<B>> outputs_;
};

}  // namespace detail

/// Branches that see the same input, and what joins their outputs, one behind the other along the
/// channels unless said otherwise:
///
///     parallel{conv2d{16, 1}, sequential{conv2d{8, 1}, conv2d{16, 3, .padding = same}}}
///     parallel{join::add{}, dense{8}, dense{8}}
///
/// Throws `shape_error` where what the branches give cannot be joined.
template <class Join, class... Branches>
class parallel {
 public:
  using holds_layers = void;

  static_assert(branch_join<Join> && (layer<Branches> && ...) && sizeof...(Branches) > 0,
                "parallel: expected layers, such as glia::dense{10}, and before them perhaps what "
                "joins them, such as glia::join::add{}");

  // What is deduced from arguments the guides below say.
  explicit constexpr parallel(std::type_identity_t<Join> join,
                              std::type_identity_t<Branches>... branches)
      : join_(std::move(join)), branches_(std::move(branches)...) {}
  explicit constexpr parallel(std::type_identity_t<Branches>... branches)
      : branches_(std::move(branches)...) {}

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>& x) const {
    detail::branch_outputs<B> outputs(s);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (outputs.add([&] { return s.run(std::get<I>(branches_), x, "parallel", I); }), ...);
    }
    (std::index_sequence_for<Branches...>{});
    return std::move(outputs).joined(join_);
  }

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
