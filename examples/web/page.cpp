// The functions that the page calls, compiled to WebAssembly by examples/web/build.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>

#include "digit_reader.hpp"

namespace {

std::optional<digit_reader> reader;

}  // namespace

extern "C" {

/// Opens a network: that of a file, or an untrained one for 0 bytes.
void open_network(const std::byte* file, std::size_t bytes) {
  reader.emplace();
  if (bytes > 0) {
    glia::load(reader->net(), std::span(file, bytes));
  }
}

/// Computes the probabilities (count, 10) for images (count, 28, 28).
void predict(const float* images, std::size_t count, float* probabilities) {
  reader->predict({images, count * digit_reader::pixels},
                  {probabilities, count * digit_reader::classes});
}

/// Trains one step, and returns the loss.
float train(const float* images, const std::int32_t* labels, std::size_t count) {
  return reader->train({images, count * digit_reader::pixels}, {labels, count});
}

/// Returns the message of an exception, which JavaScript catches as a number: its address.
const char* message_of(const std::exception* error) { return error->what(); }

}  // extern "C"
