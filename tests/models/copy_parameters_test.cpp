#include "catch.hpp"
#include "helpers.hpp"

using glia::copy_parameters;
using glia::dense;
using glia::sequential;
using test::message_of;

namespace {

auto layers() { return sequential{dense{4, glia::relu}, glia::batch_norm{}}; }

}  // namespace

TEST_CASE("copied parameters include running statistics, and later steps do not change them") {
  glia::model net{layers(), {3}};
  glia::model target{layers(), {3}, glia::cpu{}, {.seed = 7}};
  const xt::xarray<float> x{{1, 2, 3}, {-1, 0, 2}, {0, 1, 1}};
  const glia::target_arrays data{x, xt::ones<float>({3, 4})};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  trainer.fit(data, {.batch_size = 3, .progress = nullptr});
  copy_parameters(net, target);
  const xt::xarray<float> y = net.predict(x);
  CHECK((target.predict(x) == y));
  CHECK((target.get("batch_norm_0.moving_mean") == net.get("batch_norm_0.moving_mean")));
  trainer.fit(data, {.batch_size = 3, .progress = nullptr});
  CHECK((target.predict(x) == y));
  CHECK((net.predict(x) != y));
  copy_parameters(target, target);
  CHECK((target.predict(x) == y));
}

TEST_CASE("parameters are copied to another device, and between a network and a part of it") {
  glia::model net{layers(), {3}, glia::reference<double>{}};
  net.set("dense_0.bias", xt::xarray<double>{0.1, 0.2, 0.3, 0.4});
  glia::model on_cpu{layers(), {3}, glia::cpu{}, {.seed = 7}};
  copy_parameters(net, on_cpu);
  CHECK((on_cpu.get("dense_0.kernel") == net.get("dense_0.kernel")));
  glia::model precise{layers(), {3}, glia::cpu<double>{}, {.seed = 7}};
  copy_parameters(net, precise);
  CHECK((precise.get<double>("dense_0.bias") == xt::xarray<double>{0.1, 0.2, 0.3, 0.4}));

  glia::model longer{sequential{net.description(), dense{2}}, {3}, glia::cpu{}, {.seed = 8}};
  const xt::xarray<float> head = longer.get("dense_1.kernel");
  copy_parameters(net, longer);
  CHECK((longer.get("dense_0.kernel") == net.get("dense_0.kernel")));
  CHECK((longer.get("dense_1.kernel") == head));
  glia::model first{dense{4, glia::relu}, {3}, glia::cpu{}, {.seed = 9}};
  copy_parameters(longer, first);
  CHECK((first.get("dense_0.kernel") == net.get("dense_0.kernel")));
}

TEST_CASE("parameters of networks that do not fit are not copied") {
  const glia::model net{layers(), {3}};
  glia::model other{
      sequential{dense{4}, glia::named{"head", dense{2}}}, {3}, glia::cpu{}, {.seed = 7}};
  const xt::xarray<float> kernel = other.get("dense_0.kernel");
  CHECK(message_of<glia::value_error>([&] { copy_parameters(net, other); }) ==
        "copy_parameters: expected models with the same parameters, or one that has all parameters "
        "of the other; only the second model has 'head.kernel', only the first has "
        "'batch_norm_0.beta'; give the layers the same names, for example with named");
  CHECK((other.get("dense_0.kernel") == kernel));
  glia::model wider{layers(), {5}};
  CHECK(test::contains(message_of<glia::shape_error>([&] { copy_parameters(net, wider); }),
                       "copy_parameters: dense_0.kernel"));
}
