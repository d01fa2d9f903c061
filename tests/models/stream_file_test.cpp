#include <cmath>
#include <glia/models/model_file.hpp>
#include <glia/models/stream_file.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"

using test::contains;
using test::message_of;

namespace {

auto network(std::size_t units = 5) {
  return glia::sequential{
      glia::conv1d{.filters = 4, .kernel_size = 3, .padding = glia::causal},
      glia::lstm{.units = units, .return_sequences = true},
      glia::multi_head_attention{.num_heads = 1, .key_dim = 3, .use_causal_mask = true}};
}

template <class T>
auto model_of(std::uint64_t seed, std::size_t units = 5) {
  return glia::model{network(units), {12, 2}, glia::cpu<T>({.threads = 1}), {.seed = seed}};
}

template <class T>
xt::xarray<T> steps(std::size_t first, std::size_t count) {
  xt::xarray<T> x = xt::zeros<T>({std::size_t{2}, count, std::size_t{2}});
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.flat(i) = static_cast<T>(std::sin(static_cast<double>((i + first) * (i + 1))));
  }
  return x;
}

}  // namespace

TEMPLATE_TEST_CASE("another process continues a saved state with the same bits", "", float,
                   double) {
  const test::temporary_folder folder;
  const auto path = folder.path() / "state.safetensors";
  const auto net = model_of<TestType>(1);
  const glia::stream blocks{net, {.batch_size = 2}};
  glia::stream_state state = blocks.start();
  (void)blocks.template operator()<TestType>(steps<TestType>(0, 5), state);
  glia::save_state(blocks, state, path);
  glia::save(net, folder.path() / "net.safetensors");
  const xt::xarray<TestType> expected =
      blocks.template operator()<TestType>(steps<TestType>(5, 4), state);

  auto loaded = model_of<TestType>(2);
  glia::load(loaded, folder.path() / "net.safetensors");
  const glia::stream again{loaded, {.batch_size = 2}};
  glia::stream_state continued = glia::load_state(again, path);
  CHECK(continued.steps == 5);
  CHECK((again.template operator()<TestType>(steps<TestType>(5, 4), continued) == expected));
}

TEST_CASE("a state is not loaded into another stream or from another file") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "state.safetensors";
  const auto net = model_of<float>(1);
  const glia::stream blocks{net, {.batch_size = 2}};
  glia::stream_state state = blocks.start();
  (void)blocks(steps<float>(0, 5), state);
  glia::save_state(blocks, state, path);
  const auto refusal = [&](const glia::stream& other) {
    return message_of<glia::data_error>([&] { (void)glia::load_state(other, path); });
  };
  CHECK(contains(refusal(glia::stream{model_of<float>(1, 6), {.batch_size = 2}}),
                 "state.safetensors: the file belongs to another network (layers): the file has "
                 "'lstm_0: lstm(5, sequences)"));
  CHECK(contains(refusal(glia::stream{net}),
                 "expected the tensor 'state.0' of shape (1, 2, 2), got (2, 2, 2); make the stream "
                 "with the options"));
  CHECK(contains(refusal(glia::stream{net, {.batch_size = 2, .max_steps = 4}}),
                 "expected at most 4 steps, got '5'"));
  CHECK(contains(refusal(glia::stream{net, {.batch_size = 2, .max_steps = 20}}),
                 "expected the tensor 'state.2' of shape"));
  const glia::stream_state foreign = glia::stream{net}.start();
  CHECK(contains(message_of<glia::value_error>([&] { glia::save_state(blocks, foreign, path); }),
                 "the state belongs to another stream"));
  CHECK((glia::load_state(blocks, path).steps == 5));  // the file is unchanged
  auto copy = model_of<float>(1);
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(copy, path); }),
                 "the file holds the state of a stream; use load_state"));
  CHECK(glia::read_metadata(path).empty());

  glia::save(net, path);
  CHECK(contains(refusal(blocks), "expected 'stream 1' in the metadata, got 'model 1'"));
  auto bytes = test::file_content<std::vector<std::uint8_t>>(path);
  bytes.resize(bytes.size() / 2);
  folder.write("state.safetensors", bytes);
  CHECK(contains(refusal(blocks), "state.safetensors: "));
}
