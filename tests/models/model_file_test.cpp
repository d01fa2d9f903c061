#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <glia/models/model_file.hpp>
#include <map>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "run_python.hpp"

using test::contains;
using test::message_of;

namespace {

using glia::batch_norm;
using glia::conv2d;
using glia::dense;
using glia::flatten;
using glia::sequential;

/// Convolution, running statistics and a product.
auto network(const glia::activation& map = glia::relu) {
  return sequential{conv2d{.filters = 3, .kernel_size = 2}, batch_norm{}, flatten{}, dense{4, map}};
}

template <class T = float>
auto model_of(std::uint64_t seed, const glia::activation& map = glia::relu) {
  return glia::model{network(map), {5, 4, 2}, glia::cpu<T>({.threads = 1}), {.seed = seed}};
}

template <class T, class Model>
std::vector<xt::xarray<T>> values_of(const Model& net) {
  std::vector<xt::xarray<T>> values;
  for (const auto& p : net.parameters()) {
    values.push_back(net.template get<T>(p.spec.name));
  }
  return values;
}

struct model_scratch {
  test::temporary_folder folder;
  std::filesystem::path path = folder.path() / "model.safetensors";

  [[nodiscard]] std::vector<std::uint8_t> bytes() const {
    return test::file_content<std::vector<std::uint8_t>>(path);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("a model that was saved and loaded is the same bit for bit", "", float, double) {
  const model_scratch file;
  auto saved = model_of<TestType>(1);
  // Numbers that text or another type would lose.
  saved.set("dense_0.bias", xt::xarray<TestType>{TestType(1) / 3, TestType(1e-40), -TestType(0),
                                                 std::numeric_limits<TestType>::infinity()});
  glia::save(saved, file.path);
  auto loaded = model_of<TestType>(2);
  REQUIRE(values_of<TestType>(saved) != values_of<TestType>(loaded));
  glia::load(loaded, file.path);
  CHECK(values_of<TestType>(saved) == values_of<TestType>(loaded));
  CHECK(std::signbit(loaded.template get<TestType>("dense_0.bias")(2)));
}

TEST_CASE("metadata are saved with a model") {
  const model_scratch file;
  const auto net = model_of(1);
  const std::map<std::string, std::string> metadata{{"classes", "cat\ndog"}, {"", "empty key"}};
  glia::save(net, file.path, {.metadata = metadata});
  CHECK(glia::read_metadata(file.path) == metadata);
  auto loaded = model_of(2);
  glia::load(loaded, file.path);
  CHECK(values_of<float>(net) == values_of<float>(loaded));
  glia::save(net, file.path);
  CHECK(glia::read_metadata(file.path).empty());
  for (const char* key : {"glia", "description", "sample", "layers", "fingerprint", "checksum"}) {
    CHECK(message_of<glia::value_error>([&] {
            glia::save(net, file.path, {.metadata = {{key, "x"}}});
          }) ==
          "save: the metadata key '" + std::string(key) + "' belongs to glia; use another key");
  }
  CHECK(glia::read_metadata(file.path).empty());  // the file is unchanged
}

TEST_CASE("what was saved in double loads in float, rounded, and the other way") {
  const model_scratch file;
  auto exact = model_of<double>(1);
  glia::save(exact, file.path);
  auto rounded = model_of<float>(2);
  glia::load(rounded, file.path);
  CHECK(values_of<float>(exact) == values_of<float>(rounded));
  glia::save(rounded, file.path);
  glia::load(exact, file.path);
  CHECK(values_of<double>(exact) == values_of<double>(rounded));
}

TEST_CASE("the file of another network is refused, with the first difference") {
  const model_scratch file;
  glia::save(model_of(1), file.path);
  auto other = model_of(2, glia::tanh);
  const auto initial = values_of<float>(other);
  const auto error = [&](auto& net) {
    const std::string message = message_of<glia::data_error>([&] { glia::load(net, file.path); });
    return message.starts_with(file.path.string() + ": ")
               ? message.substr(file.path.string().size() + 2)
               : "(no path) " + message;
  };
  // Every shape fits.
  CHECK(error(other) ==
        "the file belongs to another network (layers): the file has 'dense_0: dense(4, relu) gives "
        "(1, 4), 148 parameters', but the model has 'dense_0: dense(4, tanh) gives (1, 4), 148 "
        "parameters'; to load the parameters of a similar network, use load_parameters");
  CHECK(values_of<float>(other) == initial);

  glia::model larger{network(), {6, 4, 2}};
  CHECK(
      contains(error(larger), "(sample): the file has '(5, 4, 2)', but the model has '(6, 4, 2)'"));
  glia::model shorter{sequential{conv2d{.filters = 3, .kernel_size = 2}}, {5, 4, 2}};
  CHECK(contains(error(shorter), "the file has 'batch_norm_0: "));
  glia::model renamed{sequential{glia::named{"front", conv2d{.filters = 3, .kernel_size = 2}},
                                 batch_norm{}, flatten{}, dense{4, glia::relu}},
                      {5, 4, 2}};
  CHECK(contains(error(renamed), "the model has 'front"));

  glia::write_safetensors(file.path, glia::tensor_map{{"w", {1, 2}}});
  CHECK(contains(error(other), "the file was not written by glia::save"));
}

TEST_CASE("a network with a softmax at its end loads the file of its logits") {
  const model_scratch file;
  const auto trained = model_of(1);
  glia::save(trained, file.path);
  const xt::xarray<float> x = xt::ones<float>({2, 5, 4, 2});
  const auto served = [&](const glia::activation& last) {
    glia::model net{sequential{network(), last}, {5, 4, 2}, glia::cpu<float>(), {.seed = 2}};
    glia::load(net, file.path);
    return net.predict(x);
  };
  CHECK(xt::allclose(served(glia::softmax), glia::softmax(trained.predict(x))));
  CHECK(xt::allclose(served(glia::sigmoid), glia::sigmoid(trained.predict(x))));
  CHECK(contains(message_of<glia::data_error>([&] { served(glia::relu); }),
                 "the file belongs to another network (layers): the file has '', but the model has "
                 "'activation_0: relu gives"));
  glia::model other{sequential{network(glia::tanh), glia::softmax}, {5, 4, 2}};
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(other, file.path); }),
                 "the file belongs to another network (layers)"));
  // Networks that are not the file's network followed by a softmax or sigmoid.
  using glia::identity;
  using glia::residual;
  const auto refusal = [&](const auto& in_file, const auto& in_model) {
    const glia::model saved{in_file, {4}};
    glia::save(saved, file.path);
    glia::model net{in_model, {4}};
    return message_of<glia::data_error>([&] { glia::load(net, file.path); });
  };
  const sequential two{dense{4}, dense{4}};
  CHECK(refusal(two, sequential{two, glia::softmax}).empty());
  CHECK(refusal(two, sequential{dense{4}, dense{4}, glia::softmax}).empty());
  CHECK(contains(refusal(two, sequential{dense{4}, residual{dense{4}}, glia::softmax}),
                 "another network"));
  CHECK(contains(refusal(two, sequential{dense{4}, residual{dense{4}, identity{}, glia::sigmoid}}),
                 "another network"));
  const glia::shared used{"d", dense{4, glia::sigmoid}};
  CHECK(contains(refusal(sequential{used}, sequential{used, used}), "another network"));
  CHECK(contains(
      refusal(sequential{dense{4}, glia::softmax}, sequential{dense{4}, glia::softmax, flatten{}}),
      "another network"));
  // The other way, the file has one layer more.
  glia::model probabilities{sequential{network(), glia::softmax}, {5, 4, 2}};
  glia::save(probabilities, file.path);
  auto logits = model_of(3);
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(logits, file.path); }),
                 "the file belongs to another network (layers)"));
}

TEST_CASE("a damaged model file leaves the model as it was") {
  const model_scratch file;
  glia::save(model_of(1), file.path);
  const std::vector<std::uint8_t> whole = file.bytes();
  auto net = model_of(2);
  const auto initial = values_of<float>(net);
  const std::size_t read = test::damaged_copies_read({whole}, [&](const auto& copy) {
    file.folder.write("model.safetensors", copy);
    try {
      glia::load(net, file.path);
    } catch (const glia::data_error&) {
      REQUIRE(values_of<float>(net) == initial);
      throw;
    }
    // As where it is the checksum's name that is damaged.
    glia::save(model_of(2), file.path);
    glia::load(net, file.path);
  });
  CHECK(read < 20);
}

TEST_CASE("a lambda that computes something else is another network though it is called the same") {
  const model_scratch file;
  const auto network_of = [](int extra) {
    return glia::lambda{"block", [extra](auto& s, auto x) {
                          auto y = s.run(dense{3}, x, "block", 0);
                          return extra == 0 ? y : y + x;
                        }};
  };
  glia::model plain{network_of(0), {3}};
  glia::save(plain, file.path);
  glia::model changed{network_of(1), {3}};
  CHECK(contains(message_of<glia::data_error>([&] { glia::load(changed, file.path); }),
                 "whose layers have the same names but compute something else"));
  glia::load(plain, file.path);
}

TEMPLATE_TEST_CASE("Python's safetensors reads what was saved, to the bit", "", float, double) {
  const auto python = test::python_with("safetensors.numpy");
  if (!python) {
    GLIA_SKIP(test::no_python_with("safetensors"));
  }
  const model_scratch file;
  auto net = model_of<TestType>(1);
  net.set("dense_0.bias",
          xt::xarray<TestType>{TestType(1) / 3, TestType(1e-30), -TestType(0), TestType(2)});
  glia::save(net, file.path);
  std::vector<std::string> expected;
  for (const auto& p : net.parameters()) {
    std::string line = glia::text(p.spec.name, sizeof(TestType) == 4 ? " float32 (" : " float64 (");
    for (std::size_t i = 0; i < p.spec.shape.rank(); ++i) {
      line += glia::text(i == 0 ? "" : ", ", p.spec.shape[i]);
    }
    line += ')';
    for (const TestType value : net.template get<TestType>(p.spec.name)) {
      std::array<char, 32> digits{};
      std::snprintf(digits.data(), digits.size(), " %.17g", static_cast<double>(value));
      line += digits.data();
    }
    expected.push_back(line + '\n');
  }
  std::sort(expected.begin(), expected.end());
  std::string joined;
  for (const std::string& line : expected) {
    joined += line;
  }
  const glia::plot::program_result read =
      test::run_python(*python, "read_safetensors.py", {file.path.string()});
  CHECK(read.errors.empty());
  CHECK(read.output == joined);
}
