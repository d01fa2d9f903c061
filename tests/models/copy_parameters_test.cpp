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
        "'batch_norm_0.beta'; give the layers the same names, for example with named, or copy only "
        "a part with the option path");
  CHECK((other.get("dense_0.kernel") == kernel));
  glia::model wider{layers(), {5}};
  CHECK(test::contains(message_of<glia::shape_error>([&] { copy_parameters(net, wider); }),
                       "copy_parameters: dense_0.kernel"));
}

TEST_CASE("a part of a network is copied to a network with another head") {
  const auto net_with = [](const char* head, std::size_t outputs, std::uint64_t seed) {
    return glia::model{
        sequential{glia::named{"features", layers()}, dense{4}, glia::named{head, dense{outputs}}},
        {3},
        glia::cpu{},
        {.seed = seed}};
  };
  const auto net = net_with("digits", 10, 1);
  auto other = net_with("letters", 26, 2);
  const auto before = net_with("letters", 26, 2);
  const auto names_copied = [&] {
    std::vector<std::string> names;
    for (const glia::parameter& p : other.parameters()) {
      if (p.spec.name.starts_with("letters") ||
          (other.get(p.spec.name) == before.get(p.spec.name))) {
        CHECK((other.get(p.spec.name) == before.get(p.spec.name)));
      } else {
        CHECK((other.get(p.spec.name) == net.get(p.spec.name)));
        names.push_back(p.spec.name);
      }
    }
    return names;
  };
  copy_parameters(net, other, {.path = "dense_0.bias"});  // both are 0
  CHECK(names_copied().empty());
  copy_parameters(net, other, {.path = "features.*.kernel"});
  CHECK(names_copied() == std::vector<std::string>{"features.dense_0.kernel"});
  copy_parameters(net, other, {.path = "dense_0"});
  CHECK(names_copied() == std::vector<std::string>{"features.dense_0.kernel", "dense_0.kernel"});

  glia::model shorter{sequential{glia::named{"features", sequential{dense{4, glia::relu}}},
                                 glia::named{"letters", dense{2}}},
                      {3},
                      glia::cpu{},
                      {.seed = 3}};
  copy_parameters(net, shorter, {.path = "features"});
  CHECK((shorter.get("features.dense_0.kernel") == net.get("features.dense_0.kernel")));
  shorter.set("features.dense_0.bias", xt::xarray<float>{1, 2, 3, 4});
  copy_parameters(shorter, other, {.path = "features"});
  CHECK((other.get("features.dense_0.bias") == xt::xarray<float>{1, 2, 3, 4}));

  const auto message = [&](const char* path) {
    return message_of<glia::value_error>([&] { copy_parameters(net, other, {.path = path}); });
  };
  CHECK(message("feature") ==
        "copy_parameters: no parameter of the first model fits the path 'feature'; its parameters "
        "are features.dense_0.kernel, features.dense_0.bias, features.batch_norm_0.gamma, "
        "features.batch_norm_0.beta, features.batch_norm_0.moving_mean, "
        "features.batch_norm_0.moving_variance, dense_0.kernel, dense_0.bias, digits.kernel, "
        "digits.bias");
  CHECK(test::contains(message("digits"),
                       "no parameter of the second model fits the path 'digits'; its parameters"));
  CHECK(test::contains(message("*kernel"), "only the second model has 'letters.kernel'"));
}
