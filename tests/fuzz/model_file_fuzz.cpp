#include <glia/models/model_file.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/models.hpp"

namespace {

/// The bits of all that a model file changes.
template <class Model>
fuzz::bytes bits_of(const Model& net) {
  fuzz::bytes bits;
  for (const auto& p : net.parameters()) {
    std::vector<float> values(p.spec.shape.size());
    net.device().to_host(p.value, std::span<float>(values));
    const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
    bits.insert(bits.end(), begin, begin + values.size() * sizeof(float));
  }
  return bits;
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::model(); }

void fuzz::check(byte_view input) {
  static auto net = test::samples::small_model(2);
  static bytes expected = bits_of(net);
  // In half of the runs no checksum keeps changes from what is behind it.
  bytes file(input.begin(), input.end());
  if (!file.empty() && file.back() % 2 == 0) {
    file = test::samples::without_checksum(std::move(file));
  }
  try {
    read_source_within({.for_each_byte = 64, .fixed = 64 << 10}, file,
                       [](const auto& source) { glia::load(net, source); });
  } catch (const glia::error&) {
    require(bits_of(net) == expected, "the model has changed, though loading it failed");
    throw;
  }
  expected = bits_of(net);
  static auto other = test::samples::small_model(3);
  without_error([] {
    glia::save(net, other_path());
    glia::load(other, other_path());
  });
  require(bits_of(other) == expected, "what was read is not what was written of it");
}
