#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "glia/layers/layers.hpp"

namespace glia {

/// The variant of a network: Keras and torchvision define some networks differently, and their
/// weights fit only their own variant.
enum class zoo_form : std::uint8_t { keras, torchvision };

/// A layer of a zoo network, or a join of several outputs.
using zoo_layer =
    std::variant<conv2d, separable_conv2d, batch_norm, activation, max_pool2d, avg_pool2d,
                 global_avg_pool2d, zero_pad2d, dropout, dense, join::add, join::concat>;

/// A named layer of a `zoo_network`. Outputs are numbered: 0 is the network's input, k + 1 is the
/// output of node k.
struct zoo_node {
  std::string name;                 ///< Name, such as "conv2_block1_1_conv"; prefix of parameters.
  zoo_layer layer;                  ///< Layer or join.
  std::vector<std::size_t> inputs;  ///< Numbers of the inputs. Only joins have several.

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    visit("name", self.name);
    visit("layer", self.layer);
    visit("inputs", self.inputs);
  }

  friend bool operator==(const zoo_node&, const zoo_node&) = default;
};

/// A network that a program builds at run time: a list of named layers, each with its inputs. It
/// can be any graph without cycles.
///
///     glia::zoo_network net("small");
///     const std::size_t x = net.add("conv", glia::conv2d{.filters = 8, .kernel_size = 3}, 0);
///     net.end_stage();
///     const std::size_t y = net.add("relu", glia::relu, x);
///     net.add("sum", glia::join::add{}, {x, y});
///     net.end_stage();
///     glia::sequential{glia::frozen{net.stages(0, 1)}, net.stages(1, 2), glia::flatten{}}
///
/// The network is divided into stages. Only one tensor passes from a stage to the next. You can
/// freeze some of the stages, or use them alone as a feature extractor.
///
/// The network is a layer like any other. Its compile time does not depend on the number of layers.
/// The names of parameters, such as "conv.kernel", do not depend on the position of the network in
/// a model.
class zoo_network {
 public:
  using contains_layers = void;
  static constexpr std::string_view stored_type = "zoo_network";
  static constexpr bool preserves_output_kind = true;

  explicit zoo_network(std::string name, zoo_form form = zoo_form::keras)
      : name_(std::move(name)), form_(form) {}

  /// Adds a layer and returns the number of its output. `inputs` contains the numbers of the
  /// outputs that the layer takes.
  ///
  /// Throws `value_error` if the name is empty, if an input does not exist, or if the number of
  /// inputs does not fit the layer. Also throws if an input belongs to an earlier stage, unless it
  /// is the last output of the stage before.
  std::size_t add(std::string name, zoo_layer layer, std::vector<std::size_t> inputs) {
    require<value_error>(!name.empty(), name_, ": expected a name for the layer, got an empty one");
    require<value_error>(is_whole(), name_, ": '", name,
                         "' cannot be added to a network that has only some of its stages");
    require<value_error>(inputs.size() == 1 || (joins(layer) && !inputs.empty()), name_, ": '",
                         name, "': expected one input, or several for a join, got ", inputs.size());
    for (const std::size_t input : inputs) {
      require<value_error>(begin_of(ends_.size()) <= input && input <= nodes_.size(), name_, ": '",
                           name, "': expected inputs from this stage, ", begin_of(ends_.size()),
                           " to ", nodes_.size(), ", got ", input);
    }
    nodes_.push_back({std::move(name), std::move(layer), std::move(inputs)});
    return nodes_.size();
  }
  std::size_t add(std::string name, zoo_layer layer, std::size_t input) {
    return add(std::move(name), std::move(layer), std::vector{input});
  }

  /// Ends a stage with the layer that was added last. Layers after the end of the last stage do not
  /// run.
  void end_stage() {
    ends_.push_back(nodes_.size());
    end_ = ends_.size();
  }

  /// A copy of the network with only the stages [first, end). A network without stages returns its
  /// input. Throws `value_error` if a stage does not exist.
  [[nodiscard]] zoo_network stages(std::size_t first, std::size_t end) const {
    require<value_error>(first_ <= first && first <= end && end <= end_, name_,
                         ": expected stages within ", first_, " to ", end_, ", got ", first, " to ",
                         end);
    zoo_network part = *this;
    part.first_ = first;
    part.end_ = end;
    return part;
  }

  /// The number of stages of the whole network.
  [[nodiscard]] std::size_t stage_count() const { return ends_.size(); }
  /// The index of the first stage that the network has.
  [[nodiscard]] std::size_t stages_begin() const { return first_; }
  /// The index after the last stage that the network has.
  [[nodiscard]] std::size_t stages_end() const { return end_; }
  /// The index of the stage that contains a layer. Throws `value_error` for an unknown name.
  [[nodiscard]] std::size_t stage_of(std::string_view name) const {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const zoo_node& node) { return node.name == name; });
    require<value_error>(found != nodes_.end(), name_, ": there is no layer '", name, "'");
    const auto number = static_cast<std::size_t>(found - nodes_.begin());
    return static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) -
                                    ends_.begin());
  }

  /// The name of the network.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The variant of the network: Keras's or torchvision's.
  [[nodiscard]] zoo_form form() const { return form_; }
  /// All layers of the whole network, in the order in which they run.
  [[nodiscard]] const std::vector<zoo_node>& nodes() const& { return nodes_; }
  [[nodiscard]] std::vector<zoo_node> nodes() && { return std::move(nodes_); }
  /// Whether the layer with this index in `nodes` belongs to the stages that this network has.
  [[nodiscard]] bool has(std::size_t node) const {
    return begin_of(first_) <= node && node < begin_of(end_);
  }

  [[nodiscard]] variable operator()(scope& s, variable x) const {
    for (std::size_t i = first_; i < end_; ++i) {
      x = s.run(stage{this, i}, std::move(x), name_, i);
    }
    return x;
  }

  [[nodiscard]] std::string description() const {
    return is_whole() ? name_ : text(name_, "(stages ", first_, " to ", end_, ')');
  }

  template <class Self, class Visit>
  static void visit_options(Self& self, Visit& visit) {
    bool is_torchvision = self.form_ == zoo_form::torchvision;
    visit("name", self.name_);
    visit("torchvision", is_torchvision);
    visit("layers", self.nodes_);
    visit("stage_ends", self.ends_);
    visit("first_stage", self.first_);
    visit("end_stage", self.end_);
    if constexpr (!std::is_const_v<Self>) {
      self.form_ = is_torchvision ? zoo_form::torchvision : zoo_form::keras;
      self = self.checked();
    }
  }

  friend bool operator==(const zoo_network&, const zoo_network&) = default;

 private:
  /// Wraps a stage as a container of layers. Error messages then contain its position:
  /// "resnet50[3]".
  struct stage {
    const zoo_network* network;
    std::size_t index;

    using contains_layers = void;
    static constexpr bool preserves_output_kind = true;

    [[nodiscard]] variable operator()(scope& s, variable x) const {
      return network->run_stage(s, std::move(x), index);
    }
    [[nodiscard]] std::string description() const { return text("stage ", index); }
  };

  /// A join as a layer with one input. The other inputs are members.
  template <class Join>
  struct joining {
    const Join* join;
    const std::vector<variable>* inputs;

    [[nodiscard]] variable operator()(scope& s, const variable&) const {
      return (*join)(s, *inputs);
    }
    [[nodiscard]] std::string description() const { return join->description(); }
  };

  /// The outputs of a stage's layers. Each is kept until the last layer has used it.
  class outputs {
   public:
    outputs(const std::vector<zoo_node>& nodes, std::size_t begin, std::size_t end, variable x)
        : begin_(begin), values_(end - begin + 1), uses_(end - begin + 1) {
      for (std::size_t n = begin; n < end; ++n) {
        for (const std::size_t input : nodes[n].inputs) {
          ++uses_[input - begin];
        }
      }
      values_[0] = std::move(x);
    }

    [[nodiscard]] variable take(std::size_t number) {
      std::optional<variable>& value = values_[number - begin_];
      variable result = *value;
      if (--uses_[number - begin_] == 0) {
        value.reset();
      }
      return result;
    }
    void give(std::size_t number, variable y) { values_[number - begin_] = std::move(y); }
    [[nodiscard]] variable last() { return std::move(*values_.back()); }

   private:
    std::size_t begin_;
    std::vector<std::optional<variable>> values_;
    std::vector<std::size_t> uses_;
  };

  [[nodiscard]] variable run_stage(scope& s, variable x, std::size_t index) const;
  [[nodiscard]] static variable run_node(scope& s, const zoo_node& node,
                                         std::vector<variable> inputs);

  [[nodiscard]] static bool joins(const zoo_layer& layer) {
    return std::holds_alternative<join::add>(layer) || std::holds_alternative<join::concat>(layer);
  }
  [[nodiscard]] bool is_whole() const { return first_ == 0 && end_ == ends_.size(); }
  /// Returns the same network, made by its public functions, which check each layer and stage.
  [[nodiscard]] zoo_network checked() const {
    zoo_network whole(name_, form_);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const zoo_node& node = nodes_[n];
      whole.add(node.name, node.layer, node.inputs);
      if (whole.ends_.size() < ends_.size() && ends_[whole.ends_.size()] == n + 1) {
        whole.end_stage();
      }
    }
    require<value_error>(whole.ends_ == ends_, name_, ": expected stages that end with a layer");
    return whole.stages(first_, end_);
  }
  /// Returns the index of a stage's first node. It is also the number of the stage's input.
  [[nodiscard]] std::size_t begin_of(std::size_t index) const {
    return index == 0 ? 0 : ends_[index - 1];
  }

  std::string name_;
  zoo_form form_;
  std::vector<zoo_node> nodes_;
  std::vector<std::size_t> ends_;  // ends of the stages, as indices of nodes
  std::size_t first_ = 0;
  std::size_t end_ = 0;
};

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/zoo/zoo_network_impl.hpp"
#endif
