#include <dlfcn.h>
#include <glia/c/glia.h>
#include <cstring>
#include <glia/core/utf8.hpp>
#include <glia/glia.hpp>
#include <glia/io/write_npy.hpp>
#include <glia/models/model_file.hpp>
#include <glia/models/stream.hpp>
#include <glia/models/stream_file.hpp>
#include <glia/plot/run_program.hpp>
#include <sstream>
#include <thread>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

using test::contains;

namespace {

/// One copy of the shared library.
class library {
 public:
  explicit library(const char* path) : handle_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    INFO((handle_ == nullptr ? dlerror() : ""));
    REQUIRE(handle_ != nullptr);
  }
  library(const library&) = delete;
  library& operator=(const library&) = delete;
  ~library() { dlclose(handle_); }

  /// Returns the function of this name.
  template <class Function>
  [[nodiscard]] Function* get(const char* name) const {
    void* const address = dlsym(handle_, name);
    REQUIRE(address != nullptr);
    return reinterpret_cast<Function*>(address);
  }

 private:
  void* handle_;
};
#define GLIA_CALL(library, function) (library).get<decltype(function)>(#function)

/// Two models in files.
struct saved_models {
  test::temporary_folder folder;
  std::string path = (folder.path() / "net.safetensors").string();
  std::string sequences_path = (folder.path() / "sequences.safetensors").string();
  glia::model<glia::sequential<glia::dense, glia::dense>> net{
      glia::sequential{glia::dense{7, glia::relu}, glia::dense{3}}, {4}, glia::cpu({.threads = 1})};
  glia::model<glia::sequential<glia::lstm, glia::time_distributed<glia::dense>>> sequences{
      glia::sequential{glia::lstm{.units = 5, .return_sequences = true},
                       glia::time_distributed{glia::dense{2}}},
      {8, 3},
      glia::cpu({.threads = 1})};
  xt::xarray<float> x = xt::reshape_view(xt::arange<float>(20), {5, 4}) / 8.0F - 1.0F;

  saved_models() {
    glia::save(net, path, {.metadata = {{"classes", "a\nb\nc"}}, .example = x});
    glia::save(sequences, sequences_path);
  }
};

class opened_model {
 public:
  opened_model(const library& source, const std::string& path) : library_(&source) {
    const glia_status status = GLIA_CALL(source, glia_open)(path.c_str(), nullptr, &net_, &error_);
    INFO(error_.message);
    REQUIRE(status == GLIA_OK);
  }
  opened_model(const opened_model&) = delete;
  opened_model& operator=(const opened_model&) = delete;
  ~opened_model() { GLIA_CALL(*library_, glia_close)(net_); }

  [[nodiscard]] glia_model* get() const { return net_; }
  [[nodiscard]] std::vector<float> predict(const xt::xarray<float>& x, std::size_t outputs) const {
    std::vector<float> y(x.shape()[0] * outputs);
    CHECK(GLIA_CALL(*library_, glia_predict)(net_, x.data(), x.shape()[0], y.data(), nullptr) ==
          GLIA_OK);
    return y;
  }

 private:
  const library* library_;
  glia_model* net_ = nullptr;
  glia_error error_{};
};

std::vector<float> elements_of(const xt::xarray<float>& x) { return {x.begin(), x.end()}; }

}  // namespace

TEST_CASE("models opened through the C interface predict the same bits, from many threads") {
  const saved_models saved;
  const library c(GLIA_C_LIBRARY);
  const opened_model net(c, saved.path);
  const std::vector<float> expected = elements_of(saved.net.predict(saved.x));
  CHECK(net.predict(saved.x, 3) == expected);
  const glia_shape inputs = GLIA_CALL(c, glia_input_shape)(net.get());
  CHECK(inputs.rank == 1);
  CHECK(inputs.extents[0] == 4);
  CHECK(GLIA_CALL(c, glia_shape_size)(GLIA_CALL(c, glia_output_shape)(net.get())) == 3);
  CHECK(GLIA_CALL(c, glia_summary)(net.get()) == saved.net.summary());
  CHECK(GLIA_CALL(c, glia_metadata)(net.get(), "classes") == std::string("a\nb\nc"));
  CHECK(GLIA_CALL(c, glia_metadata)(net.get(), "other") == nullptr);
  CHECK(GLIA_CALL(c, glia_version)() ==
        glia::text(GLIA_VERSION_MAJOR, '.', GLIA_VERSION_MINOR, '.', GLIA_VERSION_PATCH));
  auto* const predict = GLIA_CALL(c, glia_predict);
  std::vector<std::thread> threads;
  std::vector<int> alike(4);
  for (int& result : alike) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        std::vector<float> y(expected.size());
        predict(net.get(), saved.x.data(), 5, y.data(), nullptr);
        result += y == expected ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(alike == std::vector<int>(4, 100));
}

TEST_CASE("models are opened from bytes through the C interface") {
  const saved_models saved;
  const library c(GLIA_C_LIBRARY);
  auto bytes = test::file_content<std::string>(saved.path);
  glia_model* net = nullptr;
  glia_options options = GLIA_OPTIONS_INIT;
  options.threads = 2;
  REQUIRE(GLIA_CALL(c, glia_open_bytes)(bytes.data(), bytes.size(), &options, &net, nullptr) ==
          GLIA_OK);
  bytes.clear();
  std::vector<float> y(15);
  CHECK(GLIA_CALL(c, glia_predict)(net, saved.x.data(), 5, y.data(), nullptr) == GLIA_OK);
  CHECK(y == elements_of(saved.net.predict(saved.x)));
  GLIA_CALL(c, glia_close)(net);
  GLIA_CALL(c, glia_close)(nullptr);
}

TEST_CASE("sequences run in blocks through the C interface") {
  const saved_models saved;
  const library c(GLIA_C_LIBRARY);
  const opened_model net(c, saved.sequences_path);
  const xt::xarray<float> x = xt::reshape_view(xt::arange<float>(24), {1, 8, 3}) / 16.0F - 1.0F;
  const std::vector<float> expected = elements_of(saved.sequences.predict(x));
  glia_stream* stream = nullptr;
  REQUIRE(GLIA_CALL(c, glia_stream_open)(net.get(), 1, 0, &stream, nullptr) == GLIA_OK);
  CHECK(GLIA_CALL(c, glia_stream_input_shape)(stream).extents[0] == 3);
  CHECK(GLIA_CALL(c, glia_stream_output_shape)(stream).extents[0] == 2);
  std::vector<float> y(16);
  auto* const run = GLIA_CALL(c, glia_stream_run);
  CHECK(run(stream, x.data(), 5, y.data(), nullptr) == GLIA_OK);
  // A copy and a file continue after the same step.
  glia_stream* copy = nullptr;
  REQUIRE(GLIA_CALL(c, glia_stream_copy)(stream, &copy, nullptr) == GLIA_OK);
  const std::string state = (saved.folder.path() / "state.safetensors").string();
  CHECK(GLIA_CALL(c, glia_stream_save)(stream, state.c_str(), nullptr) == GLIA_OK);
  CHECK(run(stream, x.data() + 15, 3, &y[10], nullptr) == GLIA_OK);
  CHECK(y == expected);
  std::vector<float> rest(6);
  CHECK(run(copy, x.data() + 15, 3, rest.data(), nullptr) == GLIA_OK);
  CHECK(std::equal(rest.begin(), rest.end(), &expected[10]));
  CHECK(GLIA_CALL(c, glia_stream_load)(copy, state.c_str(), nullptr) == GLIA_OK);
  rest.assign(6, 0);
  CHECK(run(copy, x.data() + 15, 3, rest.data(), nullptr) == GLIA_OK);
  CHECK(std::equal(rest.begin(), rest.end(), &expected[10]));
  CHECK(GLIA_CALL(c, glia_stream_reset)(copy, nullptr) == GLIA_OK);
  y.assign(16, 0);
  CHECK(run(copy, x.data(), 8, y.data(), nullptr) == GLIA_OK);
  CHECK(y == expected);
  GLIA_CALL(c, glia_stream_close)(stream);
  GLIA_CALL(c, glia_stream_close)(copy);
}

TEST_CASE("another process continues a sequence with the same bits") {
  const saved_models saved;
  const xt::xarray<float> x = xt::reshape_view(xt::arange<float>(24), {1, 8, 3}) / 16.0F - 1.0F;
  const std::vector<float> expected = elements_of(saved.sequences.predict(x));
  const glia::stream blocks{saved.sequences};
  glia::stream_state state = blocks.start();
  std::vector<float> y(10);
  blocks.run(std::span(x.data(), 15), y, state);
  const auto path = [&](const char* name) { return (saved.folder.path() / name).string(); };
  glia::save_state(blocks, state, path("state"));
  const auto* const rest = reinterpret_cast<const std::uint8_t*>(x.data() + 15);
  saved.folder.write("inputs", {rest, rest + 9 * sizeof(float)});
  const auto continued = glia::plot::run_program(
      {GLIA_C_CONTINUE, saved.sequences_path, path("state"), path("inputs"), path("outputs")});
  INFO(continued.errors);
  REQUIRE(continued.status == 0);
  const auto outputs = test::file_content<std::vector<std::uint8_t>>(path("outputs"));
  REQUIRE(outputs.size() == 6 * sizeof(float));
  CHECK(std::memcmp(outputs.data(), &expected[10], outputs.size()) == 0);
}

TEST_CASE("the C interface returns errors as texts and changes nothing") {
  const saved_models saved;
  const library c(GLIA_C_LIBRARY);
  const opened_model net(c, saved.path);
  int place = 0;
  auto* const unchanged = reinterpret_cast<glia_model*>(&place);
  glia_model* model = unchanged;
  glia_error error{};
  const auto fails = [&](glia_status status, glia_status expected, const std::string& message) {
    INFO(error.message);
    CHECK(status == expected);
    CHECK(error.status == expected);
    CHECK(contains(error.message, message));
    CHECK(model == unchanged);
  };
  auto* const open = GLIA_CALL(c, glia_open);
  auto* const open_bytes = GLIA_CALL(c, glia_open_bytes);
  fails(open("missing.safetensors", nullptr, &model, &error), GLIA_WRONG_DATA,
        "missing.safetensors: the file cannot be opened");
  fails(open(nullptr, nullptr, &model, &error), GLIA_INVALID_ARGUMENT, "got a null pointer");
  fails(open(saved.path.c_str(), nullptr, nullptr, &error), GLIA_INVALID_ARGUMENT,
        "got a null pointer");
  fails(open_bytes(nullptr, 3, nullptr, &model, &error), GLIA_INVALID_ARGUMENT,
        "got a null pointer");
  fails(open_bytes("abc", 3, nullptr, &model, &error), GLIA_WRONG_DATA, "bytes in memory");
  glia_options options{};  // of size 0
  fails(open(saved.path.c_str(), &options, &model, &error), GLIA_INVALID_ARGUMENT,
        "initialize them with GLIA_OPTIONS_INIT");
  options = GLIA_OPTIONS_INIT;
  options.threads = 1U << 30U;
  fails(open(saved.path.c_str(), &options, &model, &error), GLIA_INVALID_ARGUMENT, "threads");
  // A message that is longer than its place ends with a whole character.
  std::string path = "x";
  for (int i = 0; i < 1000; ++i) {
    path += "ä";
  }
  fails(open(path.c_str(), nullptr, &model, &error), GLIA_WRONG_DATA, "xä");
  CHECK(glia::detail::is_utf8(error.message));
  CHECK(std::string(error.message).size() > 1000);

  std::vector<float> y(15, 7);
  auto* const predict = GLIA_CALL(c, glia_predict);
  fails(predict(nullptr, saved.x.data(), 5, y.data(), &error), GLIA_INVALID_ARGUMENT,
        "got a null pointer");
  fails(predict(net.get(), nullptr, 5, y.data(), &error), GLIA_INVALID_ARGUMENT,
        "got a null pointer");
  fails(predict(net.get(), saved.x.data(), std::size_t(-1), y.data(), &error), GLIA_WRONG_SHAPE,
        "expected at most");
  CHECK(y == std::vector<float>(15, 7));
  glia_stream* stream = nullptr;
  fails(GLIA_CALL(c, glia_stream_open)(net.get(), 1, 0, &stream, &error), GLIA_WRONG_SHAPE,
        "stream: expected a model whose outputs have a row for each");
  CHECK(stream == nullptr);
  fails(GLIA_CALL(c, glia_stream_run)(nullptr, y.data(), 1, y.data(), &error),
        GLIA_INVALID_ARGUMENT, "got a null pointer");
  CHECK(GLIA_CALL(c, glia_input_shape)(nullptr).rank == 0);
  CHECK(GLIA_CALL(c, glia_summary)(nullptr) == std::string());
  CHECK(GLIA_CALL(c, glia_metadata)(nullptr, "x") == nullptr);

  // Files in which one byte differs are refused, or have the same model.
  const auto bytes = test::file_content<std::string>(saved.path);
  for (std::size_t position = 0; position < bytes.size(); position += 37) {
    std::string damaged = bytes;
    damaged[position] = static_cast<char>(damaged[position] ^ 0x11);
    glia_model* opened = nullptr;
    error = {};
    const glia_status status = open_bytes(damaged.data(), damaged.size(), nullptr, &opened, &error);
    CHECK((status == GLIA_OK || (status == GLIA_WRONG_DATA && error.message[0] != 0)));
    GLIA_CALL(c, glia_close)(opened);
  }
}

TEST_CASE("two builds of the library work side by side in one process") {
  const saved_models saved;
  const library one(GLIA_C_LIBRARY);
  const library other(GLIA_OTHER_C_LIBRARY);
  CHECK(reinterpret_cast<void*>(GLIA_CALL(one, glia_open)) !=
        reinterpret_cast<void*>(GLIA_CALL(other, glia_open)));
  CHECK(GLIA_CALL(other, glia_version)() == std::string("0.0.1"));
  const opened_model first(one, saved.path);
  const opened_model second(other, saved.path);
  const std::vector<float> expected = elements_of(saved.net.predict(saved.x));
  for (int i = 0; i < 3; ++i) {
    CHECK(first.predict(saved.x, 3) == expected);
    CHECK(test::distance(second.predict(saved.x, 3), expected) < 1e-6);
  }
}

TEST_CASE("the shared library exports the functions of its header and nothing else") {
  const auto symbols = glia::plot::run_program({"nm", "-D", "--defined-only", GLIA_C_LIBRARY});
  REQUIRE(symbols.status == 0);
  std::istringstream lines(symbols.output);
  std::string address;
  std::string kind;
  std::string name;
  const std::string header = test::file_content<std::string>(GLIA_INCLUDE "/c/glia.h");
  std::size_t functions = 0;
  while (lines >> address >> kind >> name) {
    INFO(name);
    if (kind == "A") {  // the name of the version
      CHECK(name == "GLIA_1");
      continue;
    }
    CHECK(kind == "T");
    const std::size_t end = name.find("@@GLIA_1");
    REQUIRE(end != std::string::npos);
    CHECK(contains(header, " " + name.substr(0, end) + "("));
    ++functions;
  }
  std::size_t declared = 0;
  for (std::size_t place = header.find("GLIA_API "); place != std::string::npos;
       place = header.find("GLIA_API ", place + 1)) {
    ++declared;
  }
  CHECK(functions == declared - 1);  // without the definition of the macro
}

TEST_CASE("the examples in C and Python open a model and predict the same") {
  const saved_models saved;
  const auto printed = glia::plot::run_program({GLIA_C_PROGRAM, saved.path});
  CHECK(printed.status == 0);
  const xt::xarray<float> zeros = xt::zeros<float>({1, 4});
  const xt::xarray<float> y = saved.net.predict(zeros);
  std::string expected = saved.net.summary();
  for (const float number : y) {
    char line[32];
    std::snprintf(line, sizeof(line), "%.9g\n", static_cast<double>(number));
    expected += line;
  }
  CHECK(printed.output == expected);
  CHECK(glia::plot::run_program({GLIA_C_PROGRAM, "missing.safetensors"}).status == 1);

  // The guide shows both.
  const auto page = test::file_content<std::string>(GLIA_INCLUDE "/../../docs/how_to/c.md");
  CHECK(contains(page, test::file_content<std::string>(GLIA_C_EXAMPLES "/predict.c")));

  const auto python = test::python_with("numpy");
  if (!python) {
    GLIA_SKIP(test::no_python_with("numpy"));
  }
  const std::string inputs = (saved.folder.path() / "x.npy").string();
  const std::string outputs = (saved.folder.path() / "y.npy").string();
  glia::write_npy(inputs, saved.x);
  glia::write_npy(outputs, saved.net.predict(saved.x));
  const auto result = test::run_python(
      *python, "c_interface.py",
      {GLIA_C_EXAMPLES, GLIA_C_LIBRARY, saved.path, inputs, outputs, saved.sequences_path});
  INFO(result.output);
  CHECK(result.output == "equal\n");
}
