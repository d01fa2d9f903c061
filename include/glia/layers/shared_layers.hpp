#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "glia/ops/tape.hpp"

namespace glia::detail {

/// The shared layers that have run in a model, and the variables of their parameters. A layer that
/// is repeated gets the variables of its first run.
class shared_layers {
 public:
  /// A run of a shared layer.
  struct run {
    std::size_t layer;     // index of the shared layer
    bool repeated;         // whether a shared layer of this name has run before
    std::size_t next;      // index of the model's next parameter before this run
    bool inside_shared;    // whether the run is inside of another shared layer
    bool inside_repeated;  // whether that layer is repeated
  };

  /// Returns whether a shared layer is running for the second time or later.
  [[nodiscard]] bool is_repeated() const { return repeated_; }

  /// Begins a run of the shared layer `name`. `next` is the index of the model's next parameter. It
  /// becomes the index of the layer's first parameter.
  [[nodiscard]] run enter(const std::string& name, std::size_t& next);
  /// Ends a run. `next` is the index after the layer's last parameter. It becomes the index of the
  /// model's next parameter.
  void leave(const run& ended, std::size_t& next);

  /// Returns the index of the layer's first parameter.
  [[nodiscard]] std::size_t first_parameter(const run& r) const { return layers_[r.layer].begin; }
  /// Returns the number of parameters of the layer in its first run.
  [[nodiscard]] std::size_t parameter_count(const run& r) const {
    return layers_[r.layer].end - layers_[r.layer].begin;
  }

  /// Stores the variable of the parameter with this index if a shared layer is running.
  void store(std::size_t index, const variable& parameter);
  /// Returns the stored variable of the parameter with this index.
  [[nodiscard]] const variable& stored(std::size_t index) const;

 private:
  /// A shared layer, and the range [begin, end) of the indices of its parameters.
  struct shared_layer {
    std::string name;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  std::vector<shared_layer> layers_;
  // The variables of parameters, with their indices among all parameters.
  std::vector<std::pair<std::size_t, variable>> parameters_;
  bool running_ = false;   // a shared layer is running
  bool repeated_ = false;  // it runs for the second time or later
};

}  // namespace glia::detail

#ifndef GLIA_COMPILED
#include "glia/layers/shared_layers_impl.hpp"
#endif
