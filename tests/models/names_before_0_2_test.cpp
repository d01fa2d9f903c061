#include <glia/models/names_before_0_2.hpp>

#include <glia/glia.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/models/zoo/mobilenet_v2.hpp>
#include <map>
#include <string>

#include "catch.hpp"
#include "temporary_folder.hpp"

TEST_CASE("parameters of files written with glia 0.1 are found under the names of then") {
  glia::model net{glia::named{"features", glia::mobilenet_v2{{.width = 0.25, .classes = 3}}},
                  {32, 32, 3}};
  const glia::name_map map = glia::names_before_0_2(net.plan());
  REQUIRE(map.sources.size() == net.parameters().size());
  std::map<std::string, std::string> old_name;
  for (const auto& one : map.sources) {
    old_name[one.parameter] = one.tensor;
  }
  CHECK(old_name.at("features.stem.conv.kernel") == "conv2d_0.kernel");
  CHECK(old_name.at("features.stem.conv.normalization.gamma") == "batch_norm_0.gamma");
  CHECK(old_name.at("features.head.conv.normalization.moving_mean") == "batch_norm_51.moving_mean");
  CHECK(old_name.at("features.classifier.kernel") == "dense_0.kernel");

  SECTION("a file of then becomes one of now, value by value") {
    const test::temporary_folder folder;
    glia::tensor_map old;
    for (const auto& one : map.sources) {
      old[one.tensor] = net.get(one.parameter);
    }
    glia::write_safetensors(folder.path() / "old.safetensors", old);
    glia::model other{glia::named{"features", glia::mobilenet_v2{{.width = 0.25, .classes = 3}}},
                      {32, 32, 3},
                      glia::cpu{},
                      {.seed = 9}};
    glia::load_parameters(other, glia::read_safetensors(folder.path() / "old.safetensors"),
                          glia::names_before_0_2(other.plan()));
    for (const auto& one : map.sources) {
      INFO(one.parameter);
      CHECK((other.get(one.parameter) == net.get(one.parameter)));
    }
  }
}

TEST_CASE("layers that nobody named have kept their names since glia 0.1") {
  const glia::model net{
      glia::sequential{glia::conv2d{4, 3}, glia::batch_norm{}, glia::flatten{}, glia::dense{3}},
      {8, 8, 1}};
  for (const auto& one : glia::names_before_0_2(net.plan()).sources) {
    CHECK(one.tensor == one.parameter);
  }
}
