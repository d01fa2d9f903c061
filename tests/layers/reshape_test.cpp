#include "catch.hpp"
#include "helpers.hpp"

TEST_CASE("flatten and reshape keep the elements in order") {
  const glia::sequential both{glia::flatten{}, glia::reshape{{3, 2}}};
  CHECK(test::run_layer(both, {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {}) ==
        std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(glia::plan_model(both, {2, 3}).layers[0].output == glia::shape{1, 6});
  CHECK(glia::plan_model(both, {2, 3}).layers[1].output == glia::shape{1, 3, 2});
}

TEST_CASE("reshape says what does not fit") {
  CHECK(test::message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::reshape{{28, 28, 1}}}, {783}};
        }) ==
        "sequential[0] reshape(28, 28, 1): expected samples with 784 elements, got samples of "
        "shape (783,) with 783");
}
