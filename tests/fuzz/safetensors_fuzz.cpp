#include <algorithm>
#include <cfloat>
#include <cmath>
#include <glia/io/safetensors.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/arrays.hpp"

namespace {

std::size_t size_of(const glia::named_tensor& t) {
  return std::visit([](const auto& values) { return values.size(); }, t.values);
}

/// Whether a tensor has a double that a float cannot hold.
bool is_beyond_float(const glia::named_tensor& t) {
  const auto* values = std::get_if<std::vector<double>>(&t.values);
  return values != nullptr && std::any_of(values->begin(), values->end(), [](double value) {
           return std::isfinite(value) && (std::abs(value) > FLT_MAX || std::abs(value) < FLT_MIN);
         });
}

}  // namespace

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::safetensors(); }

void fuzz::check(byte_view file) {
  constexpr memory_limit limit{.for_each_byte = 64, .fixed = 64 << 10};
  const glia::tensor_map tensors = read_source_within(
      limit, file, [](const auto& source) { return glia::read_safetensors(source); });
  const glia::safetensors_content content = read_source_within(
      limit, file, [](const auto& source) { return glia::read_safetensors_content(source); });
  require(tensors.size() + tensors.unreadable().size() == content.tensors.size(),
          "two readers find other tensors");
  for (const glia::named_tensor& t : content.tensors) {
    if (tensors.unreadable().contains(t.name)) {
      require(is_beyond_float(t), "a tensor of floats cannot be read as floats");
      continue;
    }
    const auto& values = tensors.at(t.name);
    require(glia::shape(values.shape().begin(), values.shape().end()) == t.shape,
            "two readers find another shape");
    require(t.shape.size() == values.size() && values.size() == size_of(t),
            "a shape is of another size");
  }
  // Bytes are compared, since NaN is not what it is.
  without_error([&] {
    glia::write_safetensors_content(other_path(), content);
    const bytes first = written();
    glia::write_safetensors_content(other_path(), glia::read_safetensors_content(other_path()));
    require(written() == first, "what was read is not what was written of it");
  });
}
