#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "glia/core/error.hpp"
#include "glia/core/inline.hpp"
#include "glia/core/joined_text.hpp"
#include "glia/kernels/arrangement.hpp"
#include "glia/kernels/elementwise.hpp"
#include "glia/training/parameter_groups.hpp"

namespace glia::detail {

GLIA_INLINE const parameter_group* group_of(const std::vector<parameter_group>& groups,
                                            std::string_view name) {
  const auto found = std::find_if(groups.begin(), groups.end(), [&](const parameter_group& group) {
    return fits_path(group.path, name);
  });
  return found == groups.end() ? nullptr : &*found;
}

GLIA_INLINE void require_parameter_groups(const std::vector<parameter_group>& groups,
                                          const parameter_list& parameters) {
  std::vector<std::string> names;
  bool trains = false;
  for (const parameter& p : parameters) {
    if (p.spec.trainable) {
      names.push_back(p.spec.name);
      const parameter_group* const group = group_of(groups, p.spec.name);
      trains = trains || group == nullptr || !group->frozen;
    }
  }
  for (const parameter_group& group : groups) {
    require<value_error>(group.rate_factor > 0 && std::isfinite(group.rate_factor),
                         "trainer: expected a positive, finite rate_factor for the parameter group "
                         "'",
                         group.path, "', got ", group.rate_factor,
                         "; use .frozen = true to keep the parameters");
    for (const auto& [option, value] :
         {std::pair{"weight_decay", group.weight_decay}, {"l1", group.l1}, {"l2", group.l2}}) {
      require<value_error>(value >= 0 && std::isfinite(value), "trainer: expected a finite ",
                           option, " of at least 0 for the parameter group '", group.path,
                           "', got ", value);
    }
    const auto trained_where = [&](const auto& condition) {
      return std::any_of(parameters.begin(), parameters.end(), [&](const parameter& p) {
        return p.spec.trainable && condition(p.spec.name);
      });
    };
    require<value_error>(
        trained_where([&](const std::string& name) { return fits_path(group.path, name); }),
        "trainer: no trained parameter fits the path '", group.path,
        "' of a parameter group; the trained parameters are ", with_commas(names));
    require<value_error>(
        trained_where([&](const std::string& name) { return group_of(groups, name) == &group; }),
        "trainer: all parameters that fit the path '", group.path,
        "' belong to earlier parameter groups; list the group with the more precise path first");
  }
  require<value_error>(groups.empty() || trains,
                       "trainer: expected a parameter to train, but the parameter groups freeze "
                       "all of ",
                       with_commas(names));
}

GLIA_INLINE bool has_weight_decay(const std::vector<parameter_group>& groups) {
  return std::any_of(groups.begin(), groups.end(),
                     [](const parameter_group& group) { return group.weight_decay > 0; });
}

GLIA_INLINE void update_in_group(const parameter_group& group, const glia::device& device,
                                 const any_optimizer& rule, tensor& parameter, tensor gradient,
                                 std::vector<tensor>& slots, const tensor& numbers,
                                 const tensor& learning_rate) {
  const auto binary = [&](binary_function function, const tensor& a, const tensor& b) {
    return device.run(kernels::binary{function}, a, b);
  };
  const auto affine = [&](const tensor& x, double factor, double offset) {
    return device.run(kernels::unary{{unary_function::affine, factor, offset}}, x);
  };
  if (group.l1 > 0) {
    const tensor zero = device.run(kernels::full{{}, 0});
    const tensor sign =
        binary(binary_function::subtract, binary(binary_function::greater, parameter, zero),
               binary(binary_function::greater, zero, parameter));
    gradient = binary(binary_function::add, gradient, affine(sign, group.l1, 0));
  }
  if (group.l2 > 0) {
    gradient = binary(binary_function::add, gradient, affine(parameter, 2 * group.l2, 0));
  }
  if (group.weight_decay > 0) {
    parameter = binary(binary_function::multiply, parameter,
                       affine(learning_rate, -group.rate_factor * group.weight_decay, 1));
  }
  if (group.rate_factor == 1) {
    rule.apply(device, parameter, std::move(gradient), slots, numbers);
    return;
  }
  tensor updated = parameter;
  rule.apply(device, updated, std::move(gradient), slots, numbers);
  parameter =
      binary(binary_function::add, parameter,
             affine(binary(binary_function::subtract, updated, parameter), group.rate_factor, 0));
}

GLIA_INLINE std::string text_of(const std::vector<parameter_group>& groups) {
  std::string result;
  for (const parameter_group& group : groups) {
    std::string options = group.frozen ? ", frozen" : "";
    for (const auto& [name, value, standard] : {std::tuple{"rate factor", group.rate_factor, 1.0},
                                                {"weight decay", group.weight_decay, 0.0},
                                                {"l1", group.l1, 0.0},
                                                {"l2", group.l2, 0.0}}) {
      options += value == standard ? "" : text(", ", name, ' ', value);
    }
    result += text(result.empty() ? "" : "; ", group.path.empty() ? "*" : group.path, ": ",
                   options.empty() ? "no changes" : options.substr(2));
  }
  return result;
}

}  // namespace glia::detail
