#include <glia/pjrt.hpp>
#include <glia/training/checkpoints.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "pjrt/failing_device.hpp"

using test::contains;
using test::message_of;
using test::variable_set;

namespace {

const glia::fit_options quiet_options{.epochs = 3, .batch_size = 20, .progress = nullptr};

}  // namespace

TEST_CASE("a device that is lost ends the training with its words, and a checkpoint goes on") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const test::failing_plugin plugin(plugins.front());
  const test::temporary_folder folder;
  const glia::sequential network{glia::dense{8, glia::tanh}, glia::dense{4}};
  const auto train = [&](auto device, bool resume, std::size_t lost_after) {
    glia::model net{network, {2}, device};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
    glia::fit_options options = quiet_options;
    options.resume = resume;
    options.callbacks = {glia::checkpoints(folder.path())};
    std::size_t steps = 0;
    options.callbacks.emplace_back(
        glia::on_event(glia::event::train_batch_end, [&](const glia::training&) {
          if (++steps == lost_after) {
            setenv("GLIA_FAIL_EXECUTE", "14 the connection to the device was lost", 1);
          }
        }));
    const glia::history result = trainer.fit(test::quadrants{100}, options);
    return std::pair{result.epochs.back().training.loss,
                     test::values_of(net.device(), net.parameters()[0].value)};
  };
  std::string words;
  {
    const variable_set setting("GLIA_FAIL_EXECUTE", "");
    words = message_of<glia::device_error>(
        [&] { train(glia::pjrt(test::failing_plugin::options()), false, 7); });
  }
  CHECK(contains(words, GLIA_FAILING_PLUGIN));
  CHECK(contains(words,
                 ": cannot run a compiled graph:  the connection to the device was lost; the "
                 "device was lost: resume from the last checkpoint, on another device"));
  const auto gone_on = train(glia::pjrt(test::failing_plugin::options()), true, 0);
  std::filesystem::remove_all(folder.path());
  const auto whole = train(glia::cpu<>(), false, 0);
  CHECK(gone_on.first == Approx(whole.first).epsilon(1e-5));
  CHECK(test::distance(gone_on.second, whole.second) < 1e-5);
}

TEST_CASE("what fails while a program runs comes out where a result is waited for") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const test::failing_plugin plugin(plugins.front());
  const glia::pjrt device(test::failing_plugin::options());
  const auto x = test::tensor_of(device, {2}, {1, 2});
  const variable_set setting("GLIA_FAIL_AWAIT", "13 an illegal memory access");
  CHECK(contains(message_of<glia::device_error>([&] { (void)test::values_of(device, x); }),
                 "cannot compute a tensor:  an illegal memory access"));
}

TEST_CASE("too little memory on a device is an error that says what to do") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const test::failing_plugin plugin(plugins.front());
  const glia::pjrt device(test::failing_plugin::options());
  for (const char* const call : {"GLIA_FAIL_COMPILE", "GLIA_FAIL_EXECUTE", "GLIA_FAIL_COPY"}) {
    const variable_set full(call, "8 out of memory while trying to allocate 3 TB");
    INFO(call);
    CHECK(contains(message_of<glia::device_error>([&] {
                     const auto x = test::tensor_of(device, {2}, {1, 2});
                     (void)device.run(kernels::binary{}, x, x);
                   }),
                   " out of memory while trying to allocate 3 TB; use a smaller batch or model, or "
                   "a device with more memory"));
  }
  // And the device is as good as before.
  const auto x = test::tensor_of(device, {2}, {1, 2});
  CHECK(test::values_of(device, device.run(kernels::binary{}, x, x)) == std::vector<float>{2, 4});
}

TEST_CASE("a kernel that a device cannot run is named, and where it stands") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  const test::failing_plugin plugin(plugins.front());
  const glia::pjrt device(test::failing_plugin::options());
  const variable_set lacking("GLIA_FAIL_COMPILE", "12 no such unit|stablehlo.convolution");
  const glia::sequential network{
      glia::named{"eye", glia::conv2d{.filters = 2, .kernel_size = {2, 2}}}, glia::flatten{},
      glia::dense{4}};
  glia::model net{network, {4, 4, 1}, device};
  const std::string words = message_of<glia::device_error>([&] {
    (void)net.predict(xt::ones<float>({1, 4, 4, 1}));
  });
  CHECK(contains(words, "cannot compile a graph:  no such unit"));
  CHECK(contains(words, "; the kernel that it cannot compile is 'conv2d' of eye"));
}

TEST_CASE("devices that are not there are not used") {
  const std::vector<std::string> plugins = test::pjrt_plugins();
  if (plugins.empty()) {
    GLIA_SKIP(test::no_pjrt_plugin);
  }
  glia::pjrt_options options = test::without_cache(plugins.front());
  options.devices = 2;
  options.settings = {{"cpu_device_count", 1}};
  CHECK(contains(message_of<glia::device_error>([&] { (void)glia::pjrt(options); }),
                 "found 1 device, fewer than the 2 that were requested"));
}
