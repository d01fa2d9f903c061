#pragma once

#include <type_traits>

#include "glia/backends/device.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/models/model_access.hpp"

namespace glia {

namespace detail {

/// Does what `glia::copy_parameters` does, for lists of parameters. `access` belongs to the
/// destination.
void copy_parameters(const parameter_list& sources, const device& source_device,
                     parameter_list& parameters, const device& destination_device,
                     const model_access& access);

}  // namespace detail

/// Copies parameters and running statistics from one model to another, by name.
///
///     glia::copy_parameters(net, target);  // a target network of reinforcement learning
///
/// The models can have the same layers, or one can contain all layers of the other: parameters that
/// only one model has stay as they are. The models can run on different devices. Everything is
/// checked before any parameter changes.
///
/// Throws `value_error` if each model has a parameter that the other lacks, or if another thread
/// trains `destination`. Throws `shape_error` if two parameters of the same name have different
/// shapes.
template <class Source, class Destination>
void copy_parameters(const Source& source, Destination& destination) {
  static_assert(!std::is_const_v<Destination>,
                "copy_parameters: the second model is const, but its parameters change; expected "
                "copy_parameters(source, destination)");
  detail::copy_parameters(source.core().parameters_now(), source.device(), destination.parameters(),
                          destination.device(), destination.access());
}

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/models/copy_parameters_impl.hpp"
#endif
