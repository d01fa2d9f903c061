#include <array>
#include <filesystem>
#include <fstream>
#include <glia/models/plan_model.hpp>
#include <glia/onnx/onnx_model.hpp>
#include <iterator>

#include "fuzz/fuzz.hpp"

namespace {

/// Of a file's bytes, what messages take; beside them, numbers that the reader computes.
constexpr fuzz::memory_limit limit{.for_each_byte = 1000, .beside = 512 << 20};

void add_file(const std::filesystem::path& path, std::size_t most, std::vector<fuzz::bytes>& to) {
  std::ifstream in(path, std::ios::binary);
  fuzz::bytes file{std::istreambuf_iterator<char>(in), {}};
  if (!file.empty() && file.size() <= most) {
    to.push_back(std::move(file));
  }
}

/// What a file's network takes: its own samples, or small ones where it leaves that open.
std::vector<glia::shape> shapes_of(const glia::onnx::graph_interface& what, std::size_t rows) {
  std::vector<glia::shape> shapes;
  for (const auto& one : what.inputs) {
    glia::shape sample;
    for (const std::size_t axis : one.order) {
      sample.push_back(one.extents[axis].value_or(3));
    }
    shapes.push_back(glia::batch_of(rows, sample));
  }
  return shapes;
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() {
  constexpr std::size_t most = 4096;
  std::vector<bytes> all;
  for (const auto& one : std::filesystem::directory_iterator(GLIA_ONNX_MODELS)) {
    if (one.path().extension() == ".onnx") {
      add_file(one.path(), most, all);
    }
  }
  // Graphs that readers have got wrong, and graphs for batches of one size.
  const auto kept = std::filesystem::path(GLIA_ONNX_MODELS) / "../../fuzz/onnx";
  for (const auto& one : std::filesystem::directory_iterator(kept)) {
    add_file(one.path(), most, all);
  }
  // A node of each operator, where they are.
  const std::filesystem::path nodes = "/usr/share/libonnx-testdata/data/node";
  if (std::filesystem::exists(nodes)) {
    for (const auto& one : std::filesystem::directory_iterator(nodes)) {
      add_file(one.path() / "model.onnx", most, all);
    }
  }
  return all;
}

void fuzz::check(byte_view file) {
  const glia::onnx::graph_interface what = read_within(limit, file, [](const auto& path) {
    const glia::onnx::model_content content(path);
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
  const glia::shape sample = glia::sample_of(shapes_of(what, 1).front());
  constexpr std::size_t small = 1 << 12;
  if (what.inputs.size() == 1 && sample.size() > 0 && sample.size() < small &&
      file.back() % 4 == 0) {
    const glia::onnx_model network(file_of(file));
    const auto plan = glia::plan_model(network, sample);
    require(plan.output.rank() > 0, "a model gives nothing");
  }
}
