#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "glia/backends/device.hpp"
#include "glia/layers/parameters.hpp"
#include "glia/optimizers/any_optimizer.hpp"

namespace glia {

/// Options of an optimizer for a group of parameters, which are chosen by their path.
///
///     glia::trainer trainer{net, loss, glia::adam{1e-3},
///                           {.parameter_groups = {{.path = "features.conv2d_0", .frozen = true},
///                                                 {.path = "features", .rate_factor = 0.1},
///                                                 {.path = "*.kernel", .weight_decay = 0.01}}}};
///
/// A parameter belongs to the first group of the list whose path fits it. Parameters that fit no
/// group are updated without changes. With the gradient g and the update rule of the optimizer, a
/// step changes a parameter p of a group by
///
///     g' = g + l1 sign(p) + 2 l2 p
///     p' = (1 - rate_factor learning_rate weight_decay) p
///     p  = p' + rate_factor (updated - p'), where updated is the optimizer's update of p' by g'
///
/// The penalties l1 sum |p| and l2 sum p^2 are not part of the reported loss. They are added after
/// the gradient transforms, such as clipping. The optimizer's own weight decay also applies. With
/// `gradient_accumulation`, the parameters decay once per update.
///
/// The trainer throws `value_error` if a group has no parameter, if all parameters are frozen, or
/// if an option is out of its range.
struct parameter_group {
  /// Path of the parameters: the name of a parameter, such as "features.conv2d_0.kernel", or its
  /// beginning up to a dot, such as "features" or "features.". A "*" stands for any characters, as
  /// in "*.bias". An empty path fits all parameters.
  std::string path = {};
  double rate_factor = 1;   ///< Factor of the optimizer's learning rate, positive and finite.
  double weight_decay = 0;  ///< Decoupled weight decay as in `adamw`, at least 0.
  double l1 = 0;            ///< Factor of the L1 penalty, at least 0.
  double l2 = 0;            ///< Factor of the L2 penalty, at least 0.
  /// Whether the parameters keep their values. Their gradients are not computed. Unlike the layer
  /// `frozen`, this option does not change how dropout and batch normalization work.
  bool frozen = false;

  friend bool operator==(const parameter_group&, const parameter_group&) = default;
};

namespace detail {

/// Returns the group of a parameter, or null if it belongs to none.
[[nodiscard]] const parameter_group* group_of(const std::vector<parameter_group>& groups,
                                              std::string_view name);

/// Throws `value_error` if an option of a group is out of its range, if a group has no trained
/// parameter, or if no parameter is trained.
void require_parameter_groups(const std::vector<parameter_group>& groups,
                              const parameter_list& parameters);

/// Returns whether a group has a weight decay, so that the update needs the learning rate.
[[nodiscard]] bool has_weight_decay(const std::vector<parameter_group>& groups);

/// Updates a parameter that belongs to a group. `learning_rate` has the shape (); it is empty if no
/// group has a weight decay.
void update_in_group(const parameter_group& group, const glia::device& device,
                     const any_optimizer& rule, tensor& parameter, tensor gradient,
                     std::vector<tensor>& slots, const tensor& numbers,
                     const tensor& learning_rate);

/// Describes the groups: "features: rate factor 0.1; *.bias: frozen". Empty without groups.
[[nodiscard]] std::string text_of(const std::vector<parameter_group>& groups);

}  // namespace detail

}  // namespace glia

#ifndef GLIA_COMPILED
#include "glia/training/parameter_groups_impl.hpp"
#endif
