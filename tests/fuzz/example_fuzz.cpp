#include <glia/io/example.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/records.hpp"

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::example_messages(); }

void fuzz::check(byte_view file) {
  const std::string_view message(reinterpret_cast<const char*>(file.data()), file.size());
  glia::tf_example read;
  try {
    const memory_watch watch({.for_each_byte = 64, .fixed = 8 << 10}, file.size());
    read = glia::decode_example(message);
  } catch (const glia::error& e) {
    require(std::string_view(e.what()).starts_with("expected a tf.train.Example"),
            "an error does not say what was expected");
    throw;
  }
  without_error([&] {
    // Compared as bytes: there are numbers that are not the same as themselves.
    const std::string written = encode_example(read);
    const glia::tf_example decoded = glia::decode_example(written);
    require(decoded.features.size() == read.features.size() && encode_example(decoded) == written,
            "what was read is not what was written of it");
  });
}
