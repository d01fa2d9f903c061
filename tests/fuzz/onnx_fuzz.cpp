#include <array>
#include <filesystem>
#include <fstream>
#include <glia/models/plan_model.hpp>
#include <glia/onnx/onnx_model.hpp>
#include <iterator>

#include "fuzz/fuzz.hpp"

namespace {

/// Of a file's bytes, what messages take; beside them, numbers that the reader computes.
constexpr fuzz::memory_limit limit{.for_each_byte = 1000, .fixed = 512 << 20};

void add_file(const std::filesystem::path& path, std::size_t max_size,
              std::vector<fuzz::bytes>& files) {
  std::ifstream stream(path, std::ios::binary);
  fuzz::bytes file{std::istreambuf_iterator<char>(stream), {}};
  if (!file.empty() && file.size() <= max_size) {
    files.push_back(std::move(file));
  }
}

/// What a file's network takes: its own samples, or small ones where it leaves that open.
std::vector<glia::shape> shapes_of(const glia::onnx::graph_interface& signature, std::size_t rows) {
  std::vector<glia::shape> shapes;
  for (const auto& input : signature.inputs) {
    glia::shape sample;
    for (const std::size_t axis : input.order) {
      sample.push_back(input.extents[axis].value_or(3));
    }
    shapes.push_back(glia::batch_of(rows, sample));
  }
  return shapes;
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() {
  constexpr std::size_t max_size = 4096;
  std::vector<bytes> result;
  for (const auto& entry : std::filesystem::directory_iterator(GLIA_ONNX_MODELS)) {
    if (entry.path().extension() == ".onnx") {
      add_file(entry.path(), max_size, result);
    }
  }
  // Graphs that readers have got wrong, and graphs for batches of one size.
  const auto graphs = std::filesystem::path(GLIA_ONNX_MODELS) / "../../fuzz/onnx";
  for (const auto& entry : std::filesystem::directory_iterator(graphs)) {
    add_file(entry.path(), max_size, result);
  }
  // A node of each operator, where they are.
  const std::filesystem::path nodes = "/usr/share/libonnx-testdata/data/node";
  if (std::filesystem::exists(nodes)) {
    for (const auto& entry : std::filesystem::directory_iterator(nodes)) {
      add_file(entry.path() / "model.onnx", max_size, result);
    }
  }
  return result;
}

void fuzz::check(byte_view file) {
  const glia::onnx::graph_interface signature =
      read_source_within(limit, file, [](const auto& source) {
        const glia::onnx::model_content content(source);
        return glia::onnx::detail::naming_file(content, [&] {
          const auto found = glia::onnx::interface_of(content, false, {});
          for (const bool training : {false, true}) {
            const auto shapes = shapes_of(found, training ? 2 : 1);
            const auto read = glia::onnx::read_graph(content, found, shapes, training, training);
            require(read.calls.outputs().size() == found.outputs.size(), "outputs are missing");
            for (const auto& part : read.parts) {
              require(part.end <= read.calls.nodes().size(), "a part has nodes that are not there");
            }
          }
          return found;
        });
      });
  // As a model, small enough to be recorded with its derivatives.
  const glia::shape sample = glia::sample_of(shapes_of(signature, 1).front());
  constexpr std::size_t small = 1 << 12;
  if (signature.inputs.size() == 1 && sample.size() > 0 && sample.size() < small &&
      file.back() % 4 == 0) {
    const glia::onnx_model network(file_of(file));
    const auto plan = glia::plan_model(network, sample);
    require(plan.output.rank() > 0, "a model gives nothing");
  }
}
