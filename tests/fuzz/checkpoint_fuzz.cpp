#include <glia/training/checkpoint_file.hpp>

#include "fuzz/fuzz.hpp"
#include "samples/checkpoints.hpp"

std::vector<fuzz::bytes> fuzz::seeds() { return test::samples::checkpoint(); }

void fuzz::check(byte_view input) {
  // In half of the runs no checksum keeps changes from what is behind it.
  bytes file(input.begin(), input.end());
  if (!file.empty() && file.back() % 2 == 0) {
    file = test::samples::without_checksum(std::move(file));
  }
  const auto identity = test::samples::identity();
  glia::training_state state =
      read_within({.for_each_byte = 96, .fixed = 64 << 10}, file,
                  [&](const auto& path) { return glia::read_checkpoint(path, identity); });
  for (const glia::named_tensor& t : state.tensors) {
    require(t.shape.size() == std::visit([](const auto& v) { return v.size(); }, t.values),
            "a shape is of another size");
  }
  for (const glia::epoch_record& e : state.history) {
    require(e.training.metric_names == state.metrics &&
                e.training.metric_values.size() == state.metrics.size(),
            "an epoch has other metrics");
  }
  // Bytes are compared, since NaN is not what it is.
  without_error([&] {
    glia::detail::write_checkpoint(other_path(), std::move(state), identity);
    const bytes first = written();
    glia::detail::write_checkpoint(other_path(), glia::read_checkpoint(other_path(), identity),
                                   identity);
    require(written() == first, "what was read is not what was written of it");
  });
}
