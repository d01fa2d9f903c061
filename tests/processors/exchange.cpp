// Writes files of the kinds that glia writes without other libraries than nlohmann-json, or reads
// those of another processor and checks their contents.
//
//   glia_exchange write FOLDER
//   glia_exchange read FOLDER
//
// All numbers are computed without rounding, so the files have the same bytes on all processors.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <glia/glia.hpp>
#include <glia/io/example.hpp>
#include <glia/io/npy.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/io/tfrecord.hpp>
#include <glia/io/write_npy.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/open.hpp>
#include <glia/training/checkpoint_file.hpp>
#include <glia/training/history_csv.hpp>
#include <iostream>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t inputs = 16;
constexpr std::size_t outputs = 4;

/// Returns small multiples of 1/8, which follow no simple pattern.
template <class T>
xt::xarray<T> eighths(const std::vector<std::size_t>& extents) {
  xt::xarray<T> result(extents);
  std::uint32_t state = 1;
  for (T& number : result) {
    state = state * 1664525 + 1013904223;
    number = static_cast<T>(static_cast<int>(state >> 28) - 8) / T{8};
  }
  return result;
}

template <class T>
auto make_network() {
  glia::model net{
      glia::sequential{glia::dropout{0.5}, glia::dense{outputs}}, {inputs}, glia::cpu<T>()};
  for (glia::parameter& p : net.parameters()) {
    const xt::xarray<T> values = eighths<T>({p.spec.shape.begin(), p.spec.shape.end()});
    p.value =
        net.device().from_host(std::span<const T>(values.data(), values.size()), p.spec.shape);
  }
  return net;
}

/// Returns the state after `epochs` epochs of a training, which continues from `begin`.
glia::training_state train(std::size_t epochs, const glia::training_state* begin = nullptr) {
  auto net = make_network<float>();
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.25}, {.seed = 7}};
  if (begin != nullptr) {
    trainer.restore(*begin);
  }
  const glia::target_arrays samples(eighths<float>({16, inputs}), eighths<float>({16, outputs}));
  trainer.fit(samples, {.epochs = epochs, .batch_size = 8, .progress = nullptr});
  glia::training_state state = trainer.state();
  state.seconds = 0;
  for (glia::epoch_record& epoch : state.history) {
    epoch.seconds = 0.1;
    epoch.samples_per_second = 160;
  }
  return state;
}

std::map<std::string, std::string> identity() {
  const auto net = make_network<float>();
  return glia::detail::model_identity(net.plan(), net.sample_shape());
}

const glia::safetensors_content numbers{
    .tensors = {{"floats", {3}, std::vector<float>{0.1F, -1e-42F, 3e38F}},
                {"doubles", {2, 1}, std::vector<double>{0.1, 1e-310}}},
    .metadata = {{"name", "value"}}};

const glia::tf_example example{{{"bytes", std::vector<std::string>{"a record"}},
                                {"floats", std::vector<float>{0.1F, -2.5F}},
                                {"integers", std::vector<std::int64_t>{-1, 1LL << 40}}}};

/// Calls `call(path, array)` for an array of each type that NumPy's files are written of.
template <class Call>
void for_arrays(const std::filesystem::path& folder, const Call& call) {
  const auto numbers_of = [](auto type) {
    return xt::xarray<decltype(type)>(xt::cast<decltype(type)>(eighths<double>({3, 5}) * 80));
  };
  call(folder / "float.npy", numbers_of(float{}));
  call(folder / "double.npy", numbers_of(double{}));
  call(folder / "int8.npy", numbers_of(std::int8_t{}));
  call(folder / "int16.npy", numbers_of(std::int16_t{}));
  call(folder / "int64.npy", numbers_of(std::int64_t{}));
}

void write_files(const std::filesystem::path& folder) {
  const auto net = make_network<float>();
  glia::save(net, folder / "model.safetensors",
             {.metadata = {{"key", "value"}}, .example = eighths<float>({2, inputs})});
  glia::save(make_network<double>(), folder / "double.safetensors");
  const glia::training_state state = train(1);
  glia::detail::write_checkpoint(folder / "checkpoint.safetensors", state, identity());
  glia::history history;
  history.epochs = state.history;
  glia::write_history_csv(folder / "history.csv", history);
  glia::write_safetensors_content(folder / "numbers.safetensors", numbers);
  for_arrays(folder, [](const auto& path, const auto& array) { glia::write_npy(path, array); });
  glia::tfrecord_writer records(folder / "records.tfrecord");
  records.write(glia::encode_example(example));
  records.close();
}

void require(bool holds, std::string_view content) {
  glia::require<glia::data_error>(holds, content, ": differs from what the other processor wrote");
}

template <class T>
void check_model(const std::filesystem::path& path) {
  const xt::xarray<float> samples = eighths<float>({2, inputs});
  const xt::xarray<float> expected = make_network<T>().predict(samples);
  for (const bool in_place : {false, true}) {
    const auto opened =
        glia::open(path, {.device = glia::cpu<T>(), .tolerance = 0, .in_place = in_place});
    require(opened.predict(samples) == expected, path.string());
  }
}

void read_files(const std::filesystem::path& folder) {
  check_model<float>(folder / "model.safetensors");
  check_model<double>(folder / "double.safetensors");
  require(glia::read_metadata(folder / "model.safetensors").at("key") == "value", "metadata");
  const auto state = glia::read_checkpoint(folder / "checkpoint.safetensors", identity());
  require(state == train(1), "checkpoint");
  require(train(1, &state).tensors == train(2).tensors, "a training that goes on");
  const auto content = glia::read_safetensors_content(folder / "numbers.safetensors");
  require(content.tensors == numbers.tensors && content.metadata == numbers.metadata, "numbers");
  for_arrays(folder, []<class T>(const std::filesystem::path& path, const xt::xarray<T>& array) {
    require(glia::read_npy<T>(path) == array, path.string());
  });
  glia::tfrecord_reader records(folder / "records.tfrecord");
  require(glia::decode_example(records.next().value()) == example, "records");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv, argv + argc);
    (arguments.at(1) == "write" ? write_files : read_files)(arguments.at(2));
  } catch (const std::exception& e) {
    std::cerr << "glia_exchange: " << e.what() << '\n';
    return 1;
  }
}
