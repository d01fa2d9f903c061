#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "glia/backends/device.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/models/model_access.hpp"

namespace glia {

/// The options of `copy_parameters`.
struct copy_parameters_options {
  /// Path of the parameters to copy: the name of a parameter, such as "features.conv2d_0.kernel",
  /// or its beginning up to a dot, such as "features". A "*" stands for any characters, as in
  /// "*.bias". An empty path fits all parameters.
  std::string path = {};
};

namespace detail {

/// Does what `glia::copy_parameters` does, for lists of parameters. `access` belongs to the
/// destination.
void copy_parameters(const parameter_list& sources, const device& source_device,
                     parameter_list& parameters, const device& destination_device,
                     const model_access& access, std::string_view path);

}  // namespace detail

/// Copies parameters and running statistics from one model to another, by name.
///
///     glia::copy_parameters(net, target);  // a target network of reinforcement learning
///     glia::copy_parameters(net, other, {.path = "features"});  // a part that both networks have
///
/// The models can have the same layers, or one can contain all layers of the other: parameters that
/// only one model has stay as they are. With a path, this applies to the parameters that fit the
/// path, and all others stay as they are. The models can run on different devices. Everything is
/// checked before any parameter changes.
///
/// Throws `value_error` if each model has a parameter that fits the path and that the other lacks,
/// if a model has no parameter that fits the path, or if another thread trains `destination`.
/// Throws `shape_error` if two parameters of the same name have different shapes.
template <class Source, class Destination>
void copy_parameters(const Source& source, Destination& destination,
                     const copy_parameters_options& options = {}) {
  static_assert(!std::is_const_v<Destination>,
                "copy_parameters: the second model is const, but its parameters change; expected "
                "copy_parameters(source, destination)");
  detail::copy_parameters(source.core().parameters_now(), source.device(), destination.parameters(),
                          destination.device(), destination.access(), options.path);
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/copy_parameters_impl.hpp"
#endif
