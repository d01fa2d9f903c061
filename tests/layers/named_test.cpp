#include <glia/backends/recorder.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::dense;
using glia::named;
using glia::sequential;

namespace {

template <class Description>
std::vector<std::string> names_of(const Description& description, const glia::shape& sample = {3}) {
  std::vector<std::string> names;
  for (const auto& spec : glia::plan_model(description, sample).parameters) {
    names.push_back(spec.name);
  }
  return names;
}

using names = std::vector<std::string>;

/// Asks for a parameter of a name that changes from run to run.
struct fickle {
  std::shared_ptr<int> runs = std::make_shared<int>(0);

  glia::variable operator()(glia::scope& s, glia::variable x) const {
    const auto scale =
        s.parameter(++*runs > 1 ? "other" : "scale", {x.shape()[1]}, glia::constant(1));
    return x * scale;
  }
  static std::string description() { return "fickle"; }
  friend bool operator==(const fickle&, const fickle&) = default;
};

/// Holds a layer and asks for a parameter itself.
struct greedy {
  using contains_layers = void;
  glia::variable operator()(glia::scope& s, glia::variable x) const {
    return x * s.parameter("scale", {x.shape()[1]}, glia::constant(1));
  }
  static std::string description() { return "greedy"; }
  friend bool operator==(const greedy&, const greedy&) = default;
};

/// Runs three layers, the last of which does not fit unless the input has four features.
struct of_three {
  static constexpr std::string_view type_name = "of_three";
  glia::variable operator()(glia::scope& s, glia::variable x) const {
    const std::size_t features = x.shape()[1];
    const auto left = s.run(dense{4}, x);
    const auto right = s.run(named{"right", dense{4}}, x);
    return s.run(glia::reshape{features == 4 ? glia::shape{4} : glia::shape{5}}, left + right);
  }
  static std::string description() { return "of_three"; }
  friend bool operator==(const of_three&, const of_three&) = default;
};

}  // namespace

TEST_CASE("layers that a layer runs are numbered in messages, and named like all others") {
  CHECK(names_of(sequential{dense{4}, of_three{}, dense{1}}) ==
        names{"dense_0.kernel", "dense_0.bias", "dense_1.kernel", "dense_1.bias", "right.kernel",
              "right.bias", "dense_2.kernel", "dense_2.bias"});
  CHECK(test::message_of<glia::shape_error>([] {
          (void)names_of(sequential{dense{3}, of_three{}});
        }).starts_with("sequential[1] of_three[2] reshape"));
}

TEST_CASE("parameters are called by the names around their layer") {
  CHECK(names_of(named{"head", dense{2, glia::relu, false}}) == names{"head.kernel"});
  CHECK(names_of(sequential{dense{2}, named{"head", sequential{dense{2}, dense{2}}}, dense{1}}) ==
        names{"dense_0.kernel", "dense_0.bias", "head.dense_0.kernel", "head.dense_0.bias",
              "head.dense_1.kernel", "head.dense_1.bias", "dense_1.kernel", "dense_1.bias"});
  const sequential inner{named{"expand", dense{4}}, named{"project", dense{3}}};
  CHECK(names_of(named{"features", named{"3", inner}}) ==
        names{"features.3.expand.kernel", "features.3.expand.bias", "features.3.project.kernel",
              "features.3.project.bias"});
  // As if it were not frozen.
  CHECK(names_of(named{"features", glia::frozen{inner}}) == names_of(named{"features", inner}));
}

TEST_CASE("a layer put in front renames nothing that has a name") {
  const named features{"features", sequential{dense{4}, dense{3}}};
  const auto expected = names_of(features);
  auto stacked = names_of(sequential{dense{3}, features});
  stacked.erase(stacked.begin(), stacked.begin() + 2);
  CHECK(stacked == expected);
}

TEST_CASE("two parameters of one name are refused, and a name that is none") {
  CHECK(test::message_of<glia::value_error>([] {
          (void)names_of(sequential{named{"a", dense{3}}, named{"a", dense{3}}});
        }) ==
        "sequential[1] a: dense(3): requests the parameter 'a.kernel', but another layer has a "
        "parameter of this name; give one of the layers another name, as in glia::named{\"head\", "
        "layer}");
  CHECK_THROWS_AS(names_of(named{"", dense{3}}), glia::value_error);
}

TEST_CASE("what holds layers has no parameters of its own") {
  CHECK(test::contains(
      test::message_of<glia::value_error>([] { (void)names_of(sequential{greedy{}}); }),
      "requests the parameter 'scale', but declares contains_layers; a layer that contains layers "
      "has no parameters itself"));
}

TEST_CASE("a parameter that is asked for by another name than before is an error") {
  glia::model net{named{"mine", fickle{}}, {2}};
  const xt::xarray<float> x = xt::zeros<float>({1, 2});
  CHECK(test::contains(test::message_of<glia::value_error>([&] { (void)net.predict(x); }),
                       "requests the parameter 'other' of shape (2,), but earlier 'mine.scale'"));
}

TEST_CASE("nodes know their layer, in the backward pass as well") {
  const named net{"net", sequential{dense{4, glia::tanh}, named{"last", dense{2}}}};
  using R = glia::recorder;
  const R rec;
  glia::tape tape(rec);
  const glia::model model{net, {3}};
  glia::parameter_list parameters = glia::detail::as_inputs(rec, model.parameters());
  std::vector<glia::gradient_slot> slots;
  glia::scope s(tape, parameters, slots, rec.input("key", {{4}, glia::element::index}));
  const auto y = model.describe(s, tape.constant(rec.input("x", glia::real_of({5, 3}))));
  tape.backward(glia::ops::sum(y));
  std::vector<std::string> places;
  for (const glia::graph_node& node : rec.recorded().nodes()) {
    const std::string place = rec.recorded().place_of(node).name;
    if (places.empty() || places.back() != place) {
      places.push_back(place);
    }
  }
  CHECK(places == names{"net.dense_0", "net.last", "", "net.last", "net.dense_0"});
}
