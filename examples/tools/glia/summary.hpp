#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "command.hpp"
#include "network.hpp"

struct summary_settings {
  std::filesystem::path network;
  bool json = false;
};

inline int summarize(const summary_settings& s) {
  const network net(s.network, {.images = true});
  const glia::model_plan& plan = net.model().plan();
  if (!s.json) {
    std::cout << s.network.string() << ": samples " << net.model().sample_shape() << ", outputs "
              << net.model().output_shape() << "\n\n"
              << net.model().summary();
    return exit_fine;
  }
  json_document layers = json_document::array();
  for (const glia::layer_summary& layer : plan.layers) {
    layers.push_back({{"name", layer.name},
                      {"description", layer.description},
                      {"output", shape_document(glia::sample_of(layer.output))},
                      {"parameters", layer.parameters},
                      {"flops", layer.flops},
                      {"frozen", layer.frozen}});
  }
  print_json({{"network", s.network.string()},
              {"sample", shape_document(net.model().sample_shape())},
              {"output", shape_document(net.model().output_shape())},
              {"parameters", net.model().parameter_count()},
              {"flops", plan.flops()},
              {"layers", layers}});
  return exit_fine;
}

inline void add_summary(CLI::App& app, command_action& action) {
  const auto s = std::make_shared<summary_settings>();
  CLI::App& command =
      add_command(app, action, "summary", "Show the layers of a network", s, &summarize);
  add_network_option(command, s->network);
  add_json_option(command, s->json);
  command.footer(
      "Shows the output shape, the parameters and the floating-point operations of each layer.\n\n"
      "Examples:\n"
      "  glia summary net.onnx\n"
      "  glia summary net.safetensors --json");
}
