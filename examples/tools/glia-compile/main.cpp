// Compiles the programs of the other examples for a GPU or TPU that is not there.
//
//     examples/run glia-compile --plugin PLUGIN --target examples/tools/glia-compile/h200.pbtxt
//     examples/run glia-compile --plugin LIBTPU --target v2:2x2 --devices 8 --model mnist_cnn
//
// Prints how long that took, what each program takes of the device's memory, and its FLOPs; writes
// them to the output folder as StableHLO and as the plugin loads them. docs/how_to/devices.md says
// where plugins come from.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <glia/core/number_text.hpp>
#include <glia/core/text_table.hpp>
#include <glia/core/whole_file.hpp>
#include <glia/glia.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "../../flowers/network.hpp"
#include "../../mnist_networks.hpp"
#include "../../program.hpp"
#include "targets.hpp"

struct settings {
  std::filesystem::path plugin, output = "glia_compile_results";
  std::string target_name = "v2:2x2";
  std::vector<std::string> models{"mnist_mlp", "mnist_cnn", "flowers", "mnist_tpu",
                                  "mnist_tpu_one_layer"};
  std::size_t batch_size = 0, devices = 1;
  bool full_precision = false;
};

/// Images that are all zero: what is compiled depends on their shape alone.
[[nodiscard]] glia::labeled_arrays images(const glia::shape& sample, std::size_t count) {
  const glia::shape batch = glia::batch_of(count, sample);
  return {xt::zeros<float>(std::vector<std::size_t>(batch.begin(), batch.end())),
          xt::zeros<std::int32_t>({count})};
}

/// Trains and evaluates where nothing runs: each program is compiled as it would be run.
template <class Network, class Optimizer>
void compile(const glia::pjrt_target<>& device, const Network& network, const glia::shape& sample,
             std::size_t batch_size, const Optimizer& update) {
  glia::model net{network, sample, device};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, update};
  trainer.fit(images(sample, batch_size), images(sample, glia::default_batch_size(sample)),
              {.batch_size = batch_size,
               .progress = nullptr,
               .frozen_outputs = {.batch_size = batch_size}});
}

void compile(const glia::pjrt_target<>& device, const std::string& model, std::size_t asked) {
  const auto batches_of = [&](std::size_t usual) { return asked > 0 ? asked : usual; };
  if (model == "mnist_mlp") {
    compile(device, perceptron(), {784}, batches_of(100), glia::adam{});
  } else if (model == "mnist_cnn") {
    compile(device, convolutional_network(), {28, 28, 1}, batches_of(1024), glia::adam{});
  } else if (model == "flowers") {
    compile(device, flowers_network(glia::mobilenet_v2(), 0, 5), {224, 224, 3}, batches_of(32),
            glia::adam{});
  } else if (model == "mnist_tpu") {
    compile(device, garden_network(), {28, 28, 1}, batches_of(1024), glia::sgd{0.05});
  } else {
    compile(device, one_layer_network(), {28, 28, 1}, batches_of(1024), glia::adam{});
  }
}

/// What a program is for, by what it takes.
[[nodiscard]] std::string purpose_of(const glia::target_program& program) {
  const auto takes = [&](std::string_view name) {
    const auto& inputs = program.calls.inputs();
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const glia::graph_input& input) { return input.name == name; });
  };
  return takes("numbers") ? "step" : takes("targets") ? "evaluation" : "frozen_layers";
}

void write(const std::filesystem::path& path, const std::string& bytes) {
  glia::write_whole_file(path, [&](std::ostream& out) { out << bytes; });
}

int run(int argc, char** argv) {
  settings s;
  const char* const tpu = std::getenv("GLIA_LIBTPU");
  s.plugin = tpu == nullptr ? "" : tpu;
  CLI::App app{"Compiles the examples' programs for a GPU or TPU that is not there"};
  app.option_defaults()->always_capture_default();
  app.add_option("--plugin", s.plugin, "that compiles for the target; default: $GLIA_LIBTPU");
  app.add_option("--target", s.target_name,
                 "of a TPU v2:2x2, v5e:2x4 ...; of a GPU a file as h200.pbtxt");
  app.add_option("--model", s.models)
      ->check(
          CLI::IsMember({"mnist_mlp", "mnist_cnn", "flowers", "mnist_tpu", "mnist_tpu_one_layer"}));
  app.add_option("--batch-size", s.batch_size, "0: the example's own")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--devices", s.devices, "to split each batch among")->check(CLI::Range(1, 127));
  app.add_flag("--full-precision", s.full_precision,
               "multiply in full where the target has a faster way");
  app.add_option("--output", s.output, "folder for the programs");
  CLI11_PARSE(app, argc, argv);

  target hardware = target_of(s.plugin, s.target_name, s.devices);
  hardware.options.precision =
      s.full_precision ? glia::product_precision::full : glia::product_precision::fast;
  std::filesystem::create_directories(s.output);
  std::cout << "for " << hardware.name
            << (s.devices == 1 ? "" : glia::text(", batches split among ", s.devices, " devices"))
            << "\n\n";
  const auto megabytes = [](double bytes) { return glia::scaled(bytes, "B"); };
  std::vector<std::vector<std::string>> table{
      {"program", "compiled in", "arguments", "temporaries", "in all", "of the device", "FLOPs"}};
  for (const std::string& model : s.models) {
    const glia::pjrt_target<> device(hardware.options);
    compile(device, model, s.batch_size);
    for (const glia::target_program& p : device.programs()) {
      const std::string name = model + '.' + purpose_of(p);
      const auto total = static_cast<double>(p.bytes());
      table.push_back({name, glia::fixed_text(p.seconds, 1) + " s",
                       megabytes(static_cast<double>(p.argument_bytes)),
                       megabytes(static_cast<double>(p.temporary_bytes)), megabytes(total),
                       hardware.memory_bytes
                           ? glia::fixed_text(100 * total / *hardware.memory_bytes, 2) + " %"
                           : "?",
                       glia::scaled(p.flops())});
      write(s.output / (name + ".mlir"), p.module);
      if (!p.executable.empty()) {
        write(s.output / (name + ".program"), p.executable);
      }
    }
  }
  std::cout << glia::text_table(table) << "\nfor one batch each; the programs are in "
            << s.output.string() << '\n';
  return 0;
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("glia-compile", argc, argv, &run);
}
