#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "glia/layers/layers.hpp"

namespace glia {

/// Whose definition of a network is meant, where those that trained it differ.
enum class zoo_form : std::uint8_t { keras, torchvision };

/// What networks of the zoo consist of: layers, and what joins several of them.
using zoo_layer =
    std::variant<conv2d, separable_conv2d, batch_norm, activation, max_pool2d, avg_pool2d,
                 global_avg_pool2d, zero_pad2d, dropout, dense, join::add, join::concat>;

/// A layer of a network, by its name. Outputs are numbered: the network's input is 0, what the
/// k-th node gives is k + 1.
struct zoo_node {
  std::string name;                 ///< conv2_block1_1_conv, with which its parameters' begin
  zoo_layer layer;                  ///< what it does
  std::vector<std::size_t> inputs;  ///< whose outputs it runs on: one but for joins

  friend bool operator==(const zoo_node&, const zoo_node&) = default;
};

/// A network as a list of named layers and of what they run on, which a program puts together: any
/// graph without cycles. It is cut into stages, between which one tensor goes on, to freeze only
/// the first or to take what another gives:
///
///     glia::zoo_network net("small");
///     const std::size_t x = net.add("conv", glia::conv2d{.filters = 8, .kernel = 3}, 0);
///     net.end_stage();
///     const std::size_t y = net.add("relu", glia::relu, x);
///     net.add("sum", glia::join::add{}, {x, y});
///     net.end_stage();
///     glia::sequential{glia::frozen{net.stages(0, 1)}, net.stages(1, 2), glia::flatten{}}
///
/// A description like any other, which compiles as fast for a hundred layers as for one and can be
/// chosen while a program runs. Parameters are called conv.kernel, wherever it stands.
class zoo_network {
 public:
  using holds_layers = void;
  static constexpr bool hands_on = true;

  explicit zoo_network(std::string name, zoo_form form = zoo_form::keras)
      : name_(std::move(name)), form_(form) {}

  /// Adds a layer that runs on what these numbers stand for; gives the number of its output.
  ///
  /// Throws `value_error` for a name that is empty, and for inputs that are not there, lie in a
  /// stage before, unless they are what it ends in, or are more or fewer than the layer takes.
  std::size_t add(std::string name, zoo_layer layer, std::vector<std::size_t> inputs) {
    require<value_error>(!name.empty(), name_, ": expected a layer's name, got an empty one");
    require<value_error>(is_whole(), name_, ": '", name, "' cannot be added to some of its stages");
    require<value_error>(inputs.size() == 1 || (joins(layer) && !inputs.empty()), name_, ": '",
                         name, "' runs on one input, or joins several, got ", inputs.size());
    for (const std::size_t input : inputs) {
      require<value_error>(begin_of(ends_.size()) <= input && input <= nodes_.size(), name_, ": '",
                           name, "' takes output ", input, "; those of this stage are ",
                           begin_of(ends_.size()), " ... ", nodes_.size());
    }
    nodes_.push_back({std::move(name), std::move(layer), std::move(inputs)});
    return nodes_.size();
  }
  std::size_t add(std::string name, zoo_layer layer, std::size_t input) {
    return add(std::move(name), std::move(layer), std::vector{input});
  }

  /// Ends a stage with what was added last. What is added behind the last stage does not run.
  void end_stage() {
    ends_.push_back(nodes_.size());
    end_ = ends_.size();
  }

  /// Only the stages first ... end - 1. No stages pass their input on. Throws `value_error` for
  /// stages that are not there.
  [[nodiscard]] zoo_network stages(std::size_t first, std::size_t end) const {
    require<value_error>(first_ <= first && first <= end && end <= end_, name_,
                         ": expected stages within ", first_, " ... ", end_, ", got ", first,
                         " ... ", end);
    zoo_network part = *this;
    part.first_ = first;
    part.end_ = end;
    return part;
  }

  /// The number of stages of the whole network.
  [[nodiscard]] std::size_t stage_count() const { return ends_.size(); }
  /// Of the stages that it has, the first, and the one behind the last.
  [[nodiscard]] std::size_t stages_begin() const { return first_; }
  [[nodiscard]] std::size_t stages_end() const { return end_; }
  /// The stage in which the layer of this name stands. Throws `value_error` for one that it does
  /// not have.
  [[nodiscard]] std::size_t stage_of(std::string_view name) const {
    const auto at = std::find_if(nodes_.begin(), nodes_.end(),
                                 [&](const zoo_node& node) { return node.name == name; });
    require<value_error>(at != nodes_.end(), name_, ": has no layer '", name, "'");
    const auto number = static_cast<std::size_t>(at - nodes_.begin());
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) -
                                    ends_.begin());
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] zoo_form form() const { return form_; }
  /// All layers of the whole network, in the order in which they run.
  [[nodiscard]] const std::vector<zoo_node>& nodes() const& { return nodes_; }
  [[nodiscard]] std::vector<zoo_node> nodes() && { return std::move(nodes_); }
  /// Whether the layer at this place in `nodes` is one of the stages that this network has.
  [[nodiscard]] bool has(std::size_t node) const {
    return begin_of(first_) <= node && node < begin_of(end_);
  }

  template <backend B>
  [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
    for (std::size_t i = first_; i < end_; ++i) {
      x = s.run(stage{this, i}, std::move(x), name_, i);
    }
    return x;
  }

  [[nodiscard]] std::string description() const {
    return is_whole() ? name_ : text(name_, "(stages ", first_, " to ", end_, ')');
  }

  friend bool operator==(const zoo_network&, const zoo_network&) = default;

 private:
  /// A stage as what holds its layers, so that messages say where they stand: resnet50[3].
  struct stage {
    const zoo_network* network;
    std::size_t index;

    using holds_layers = void;
    static constexpr bool hands_on = true;

    template <backend B>
    [[nodiscard]] variable<B> operator()(scope<B>& s, variable<B> x) const {
      return network->run_stage(s, std::move(x), index);
    }
    [[nodiscard]] std::string description() const { return text("stage ", index); }
  };

  /// A join as a layer, which has one input by type.
  template <backend B, class Join>
  struct joining {
    const Join* join;
    const std::vector<variable<B>>* inputs;

    [[nodiscard]] variable<B> operator()(scope<B>& s, const variable<B>&) const {
      return (*join)(s, *inputs);
    }
    [[nodiscard]] std::string description() const { return join->description(); }
  };

  /// What stages have run, of whose outputs each is kept as long as a layer still takes it.
  template <backend B>
  class outputs {
   public:
    outputs(const std::vector<zoo_node>& nodes, std::size_t begin, std::size_t end, variable<B> x)
        : begin_(begin), values_(end - begin + 1), uses_(end - begin + 1) {
      for (std::size_t n = begin; n < end; ++n) {
        for (const std::size_t input : nodes[n].inputs) {
          ++uses_[input - begin];
        }
      }
      values_[0] = std::move(x);
    }

    [[nodiscard]] variable<B> take(std::size_t number) {
      std::optional<variable<B>>& value = values_[number - begin_];
      variable<B> result = *value;
      if (--uses_[number - begin_] == 0) {
        value.reset();
      }
      return result;
    }
    void give(std::size_t number, variable<B> y) { values_[number - begin_] = std::move(y); }
    [[nodiscard]] variable<B> last() { return std::move(*values_.back()); }

   private:
    std::size_t begin_;
    std::vector<std::optional<variable<B>>> values_;
    std::vector<std::size_t> uses_;
  };

  template <backend B>
  [[nodiscard]] variable<B> run_stage(scope<B>& s, variable<B> x, std::size_t index) const {
    const std::size_t begin = begin_of(index);
    const std::size_t end = ends_[index];
    outputs<B> values(nodes_, begin, end, std::move(x));
    for (std::size_t n = begin; n < end; ++n) {
      std::vector<variable<B>> inputs;
      for (const std::size_t input : nodes_[n].inputs) {
        inputs.push_back(values.take(input));
      }
      values.give(n + 1, run_node(s, nodes_[n], std::move(inputs)));
    }
    return values.last();
  }

  template <backend B>
  [[nodiscard]] static variable<B> run_node(scope<B>& s, const zoo_node& node,
                                            std::vector<variable<B>> inputs) {
    const typename scope<B>::under_name called(s, node.name);
    return std::visit(
        [&]<class Layer>(const Layer& layer) {
          if constexpr (branch_join<Layer>) {
            return s.run(joining<B, Layer>{&layer, &inputs}, inputs[0], node.name,
                         scope<B>::no_index);
          } else {
            return s.run(layer, std::move(inputs[0]), node.name, scope<B>::no_index);
          }
        },
        node.layer);
  }

  [[nodiscard]] static bool joins(const zoo_layer& layer) {
    return std::holds_alternative<join::add>(layer) || std::holds_alternative<join::concat>(layer);
  }
  [[nodiscard]] bool is_whole() const { return first_ == 0 && end_ == ends_.size(); }
  /// The first node of a stage, whose number is that of the stage's input, too.
  [[nodiscard]] std::size_t begin_of(std::size_t index) const {
    return index == 0 ? 0 : ends_[index - 1];
  }

  std::string name_;
  zoo_form form_;
  std::vector<zoo_node> nodes_;
  std::vector<std::size_t> ends_;  // of stages, in nodes
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace glia

#ifdef GLIA_COMPILED
#include "glia/backends/cpu.hpp"

namespace glia {

// In the compiled target, which programs in float alone read: see compiled.hpp.
extern template variable<recorder<cpu<float>>> zoo_network::run_stage(
    scope<recorder<cpu<float>>>&, variable<recorder<cpu<float>>>, std::size_t) const;

}  // namespace glia
#endif
