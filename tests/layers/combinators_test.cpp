#include <glia/testing/gradient_check.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

TEST_CASE("nested sequentials run like flat ones") {
  const glia::sequential flat{glia::dense{3, glia::tanh}, glia::dense{4, glia::tanh},
                              glia::dense{2}};
  const glia::sequential nested{glia::dense{3, glia::tanh},
                                glia::sequential{glia::dense{4, glia::tanh}, glia::dense{2}}};
  glia::model a{flat, {5}};
  glia::model b{nested, {5}};
  const xt::xarray<float> x = xt::ones<float>({3, 5});
  CHECK((a.predict(x) == b.predict(x)));
  CHECK(glia::text(nested) == "sequential(dense(3, tanh), sequential(dense(4, tanh), dense(2)))");
  CHECK(flat ==
        glia::sequential{glia::dense{3, glia::tanh}, glia::dense{4, glia::tanh}, glia::dense{2}});
}

TEST_CASE("residual adds its shortcut") {
  const glia::residual same{glia::dense{2}};
  CHECK(test::run_layer(same, {1, 2}, {1, 2}, {{1, 0, 0, 1}, {10, 20}}) ==
        std::vector<float>{12, 24});
  const glia::residual projected{glia::dense{1}, glia::dense{1}, glia::relu};
  CHECK(test::run_layer(projected, {1, 2}, {1, 2}, {{1, 1}, {0}, {-1, -1.5F}, {0}}) ==
        std::vector<float>{0});
  CHECK(test::message_of<glia::shape_error>([] {
          glia::model net{glia::sequential{glia::residual{glia::dense{3}}}, {2}};
        }) ==
        "sequential[0] residual(dense(3)): the body ends in (N, 3), the shortcut in (N, 2); give "
        "residual{} a shortcut whose output has the shape of the body's output");
}

TEST_CASE("combinators have the right gradients") {
  const glia::sequential branched{
      glia::dense{4, glia::tanh},
      glia::residual{glia::sequential{glia::dense{4, glia::sigmoid}, glia::dense{4}},
                     glia::dense{4}, glia::silu},
      glia::lambda{"square", [](auto x) { return glia::ops::square(x); }}};
  CHECK(glia::testing::layer_gradient_error(glia::cpu<double>(), branched, {{3, 5}, 1U}) <
        tolerance::gradient);
}

TEST_CASE("a lambda layer may ask for parameters and for randomness") {
  const glia::lambda scale{"scale", [](auto& s, auto x) {
                             const auto factor = s.parameter("factor", {}, glia::constant(3));
                             return x * factor;
                           }};
  glia::model net{glia::sequential{scale}, {2}};
  CHECK(net.parameters()[0].spec.name == "lambda_0.factor");
  const xt::xarray<float> x{{1, 2}};
  CHECK((net.predict(x) == xt::xarray<float>{{3, 6}}));
  CHECK(scale == scale);
  CHECK(glia::text(scale) == "lambda(scale)");
}
