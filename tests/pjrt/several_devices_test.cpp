#include <glia/pjrt.hpp>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "pjrt/plugins.hpp"

namespace {

/// So many devices of the CPU's plugin.
glia::pjrt<double> devices(const std::string& plugin, std::int64_t count) {
  glia::pjrt_options options = test::without_cache(plugin);
  options.devices = static_cast<std::size_t>(count);
  options.settings = {{"cpu_device_count", count}};
  return glia::pjrt<double>(options);
}

}  // namespace

TEST_CASE("several devices train as one does") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.size() < 2) {  // others have no setting for their number
    GLIA_SKIP("no PJRT plugins for the CPU; run tests/pjrt/setup");
  }
  xt::xarray<float> x = xt::zeros<float>({88, 8, 8, 2});
  glia::random_stream random({.seed = 3});
  for (float& v : x) {
    v = static_cast<float>(random.normal());
  }
  xt::xarray<std::int32_t> y = xt::zeros<std::int32_t>({88});
  for (std::int32_t& v : y) {
    v = static_cast<std::int32_t>(random.integer(10));
  }
  const glia::labeled_arrays data(x, y);
  const glia::sequential network{glia::conv2d{.filters = 4, .kernel_size = {3, 3}},
                                 glia::batch_norm{},
                                 glia::max_pool2d{{2, 2}},
                                 glia::dropout{0.3},
                                 glia::flatten{},
                                 glia::dense{10}};
  for (const std::string& plugin : plugins) {
    INFO(plugin);
    const auto train = [&](std::int64_t count) {
      const glia::pjrt<double> device = devices(plugin, count);
      REQUIRE(device.device_count() == static_cast<std::size_t>(count));
      glia::model net{network, {8, 8, 2}, device};
      glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
      // The last batch has 8 samples, and those of the validation are 88 at once.
      const glia::history h =
          trainer.fit(data, data, {.epochs = 3, .batch_size = 16, .progress = nullptr});
      std::vector<float> values = {static_cast<float>(h.epochs.back().training.loss),
                                   static_cast<float>(h.epochs.back().validation->loss)};
      const auto parameters = test::parameters_of(net);
      values.insert(values.end(), parameters.begin(), parameters.end());
      // Some that cannot be split in equal parts.
      const xt::xarray<float> outputs = net.predict(xt::view(x, xt::range(0, 5)));
      values.insert(values.end(), outputs.begin(), outputs.end());
      return values;
    };
    const std::vector<float> single = train(1);
    for (const std::int64_t count : {2, 8}) {
      const std::vector<float> several = train(count);
      REQUIRE(several.size() == single.size());
      for (std::size_t i = 0; i < single.size(); ++i) {
        INFO(count << " devices, number " << i);
        CHECK(several[i] == Approx(single[i]).epsilon(1e-6).margin(1e-9));
      }
    }
  }
}

TEST_CASE("kernels run one by one on several devices as on one") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.size() < 2) {  // others have no setting for their number
    GLIA_SKIP("no PJRT plugins for the CPU; run tests/pjrt/setup");
  }
  const glia::pjrt<double> device = devices(plugins.front(), 2);
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const auto split = device.samples_from_host(std::span<const float>(values), {2, 3});
  CHECK(glia::pjrt_backend<double>::buffer_of(split).layout() ==
        glia::detail::device_layout::by_rows);
  CHECK(test::values_of(device, split) == values);
  const auto whole = device.from_host(std::span<const float>(values), {2, 3});
  CHECK(test::values_of(device, device.run(kernels::binary{}, split, whole)) ==
        std::vector<float>{2, 4, 6, 8, 10, 12});
  CHECK(test::values_of(device, device.run(kernels::sum_to{{}}, split)) == std::vector<float>{21});
}
