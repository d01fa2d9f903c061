#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <glia/glia.hpp>
#include <glia/graph/graph.hpp>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "idx_file.hpp"
#include "messages.hpp"
#include "temporary_folder.hpp"

namespace kernels = glia::kernels;

namespace test {

/// The elements of a device tensor.
inline std::vector<float> values_of(const glia::device& device, const glia::tensor& t) {
  std::vector<float> values(t.shape().size());
  device.to_host(t, std::span<float>(values));
  return values;
}

inline glia::tensor tensor_of(const glia::device& device, const glia::shape& s,
                              std::vector<float> values) {
  return device.from_host(std::span<const float>(values), s);
}

/// The elements of a tensor of a device in host memory.
template <class T = float>
T* data_of(const glia::tensor& x) {
  return glia::detail::tensor_view<T>(x).data();
}

/// The backend of a device in host memory.
inline const glia::host_memory_backend& host_of(const glia::device& device) {
  return static_cast<const glia::host_memory_backend&>(device.implementation());
}

/// How many nodes of a graph are kernels of this name.
inline std::size_t kernel_count(const glia::graph& g, std::string_view name) {
  return static_cast<std::size_t>(
      std::count_if(g.nodes().begin(), g.nodes().end(),
                    [&](const glia::graph_node& node) { return node.kernel.name() == name; }));
}

/// All parameters of a model, one behind the other.
template <class Number = float, class Model>
std::vector<Number> parameters_of(const Model& net) {
  std::vector<Number> parameters;
  for (const auto& p : net.parameters()) {
    std::vector<Number> values(p.value.shape().size());
    net.device().to_host(p.value, std::span<Number>(values));
    parameters.insert(parameters.end(), values.begin(), values.end());
  }
  return parameters;
}

/// The relative difference of the outputs a from the expected outputs b: |a - b| / |b|.
template <class A, class C>
double relative_change(const A& a, const C& b) {
  if (a.size() != b.size()) {
    return INFINITY;
  }
  double changed = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    changed += std::pow(a.data()[i] - b.data()[i], 2);
    size += std::pow(b.data()[i], 2);
  }
  return std::sqrt(changed / size);
}

/// The largest |a - b|; infinite when the sizes differ.
template <class A, class C>
double distance(const A& a, const C& b) {
  if (a.size() != b.size()) {
    return INFINITY;
  }
  double worst = 0;
  auto position = b.begin();
  for (const auto value : a) {
    const auto left = static_cast<double>(value);
    const auto right = static_cast<double>(*position++);
    if (left == right || (std::isnan(left) && std::isnan(right))) {
      continue;
    }
    const double difference = std::abs(left - right);
    worst = std::max(worst, std::isnan(difference) ? INFINITY : difference);
  }
  return worst;
}

/// Runs a layer on a batch, as in inference or in training, with parameters all made by `fill`.
template <glia::layer Layer>
std::vector<float> run_layer(const Layer& layer, const glia::shape& batch,
                             std::vector<float> values, std::vector<std::vector<float>> parameters,
                             glia::run_mode mode = glia::run_mode::inference) {
  const glia::reference<float> device;
  const glia::model_plan plan = glia::plan_model(layer, glia::sample_of(batch));
  glia::parameter_list list;
  for (std::size_t i = 0; i < plan.parameters.size(); ++i) {
    list.push_back(
        {plan.parameters[i], tensor_of(device, plan.parameters[i].shape, parameters.at(i))});
  }
  glia::tape tape(device);
  std::vector<glia::gradient_slot> slots;
  glia::scope s(tape, list, slots, mode, {.seed = 1});
  const auto y = s.run_model(layer, tape.constant(tensor_of(device, batch, std::move(values))));
  return values_of(device, y.value());
}

/// A small labeled data set that a small network learns: points in the plane, their class the
/// quadrant.
struct quadrants {
  std::size_t count = 200;

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] static glia::shape input_shape() { return {2}; }
  static void input(std::size_t i, std::span<float> values) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::uint32_t bits = glia::detail::random_bits({.seed = 4}, 2 * i + axis);
      values[axis] = static_cast<float>(bits * 0x1p-31 - 1);
    }
  }
  [[nodiscard]] static std::int32_t label(std::size_t i) {
    float point[2];
    input(i, point);
    return (point[0] > 0 ? 1 : 0) + (point[1] > 0 ? 2 : 0);
  }
};

}  // namespace test
