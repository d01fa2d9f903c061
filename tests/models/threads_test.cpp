// Models and devices that several threads use at the same time.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <glia/io/parameters.hpp>
#include <glia/models/calibrate.hpp>
#include <glia/models/model_file.hpp>
#include <glia/testing/values.hpp>
#include <glia/training/optimizer_state.hpp>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "messages.hpp"
#include "posix.hpp"

namespace {

const auto large = [] {
  return glia::model{
      glia::sequential{glia::conv2d{.filters = 8, .kernel_size = 3, .activation = glia::relu},
                       glia::max_pool2d{}, glia::flatten{}, glia::dense{256, glia::relu},
                       glia::dense{10}},
      {12, 12, 1},
      glia::cpu<float>({.threads = 2})};
};
const auto small = [] {
  return glia::model{glia::sequential{glia::dense{32, glia::relu}, glia::batch_norm{},
                                      glia::dense{32, glia::tanh}, glia::dense{3}},
                     {8},
                     glia::cpu<float>({.threads = 2})};
};

/// For `small`.
glia::batch small_batch() {
  return {.size = 2,
          .input_shape = {2, 8},
          .inputs = std::vector<float>(16, 0.5F),
          .labels = {},
          .target_shape = {2, 3},
          .targets = std::vector<float>(6, 1.0F)};
}

template <class Work>
void on_threads(std::size_t count, const Work& work) {
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] { work(t); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// How many of eight threads' predictions differ from those of one thread, in any bit.
template <class Net>
std::size_t wrong_predictions(const Net& net, bool on_copies, std::size_t calls) {
  constexpr std::size_t batches = 4;
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> expected;
  for (std::size_t b = 0; b < batches; ++b) {
    const glia::shape s = glia::batch_of(1 + 9 * b, net.sample_shape());
    inputs.push_back(glia::testing::test_values(s, static_cast<std::uint32_t>(b)));
    expected.emplace_back(s[0] * net.output_shape().size());
    net.predict_batch(inputs[b], expected[b]);
  }
  std::atomic<std::size_t> wrong{0};
  on_threads(8, [&](std::size_t t) {
    std::unique_ptr<const Net> copy = on_copies ? std::make_unique<const Net>(net) : nullptr;
    const Net& model = on_copies ? *copy : net;
    for (std::size_t call = 0; call < calls; ++call) {
      const std::size_t b = (call + t) % batches;
      std::vector<float> y(expected[b].size());
      model.predict_batch(inputs[b], y);
      wrong += y != expected[b];
    }
  });
  return wrong;
}

}  // namespace

TEST_CASE("eight threads predict with one model, or with copies of it, as one thread does") {
  for (const bool on_copies : {false, true}) {
    CHECK(wrong_predictions(small(), on_copies, 1000) == 0);
    CHECK(wrong_predictions(large(), on_copies, 1000) == 0);
  }
}

TEST_CASE("models that share a device train side by side as they train alone") {
  const glia::cpu<float> device({.threads = 2});
  const auto train = [&](std::uint64_t seed) {
    glia::model net{glia::sequential{glia::dense{64, glia::relu}, glia::dropout{0.2},
                                     glia::dense{64, glia::relu}, glia::dense{4}},
                    {2},
                    device,
                    {.seed = seed}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}};
    trainer.fit(test::quadrants{}, {.epochs = 3, .batch_size = 50, .progress = nullptr});
    std::vector<std::vector<float>> parameters;
    for (const auto& p : net.parameters()) {
      parameters.push_back(test::values_of(device, p.value));
    }
    return parameters;
  };
  std::vector<std::vector<std::vector<float>>> alone;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    alone.push_back(train(seed));
  }
  std::vector<std::vector<std::vector<float>>> concurrent(4);
  on_threads(4, [&](std::size_t t) { concurrent[t] = train(t); });
  CHECK(concurrent == alone);
}

TEST_CASE("one model trained from two threads is an error, not a mixture") {
  auto net = small();
  std::atomic<bool> entered{false};
  std::atomic<bool> refused{false};
  const auto waiting_loss = [&](const auto& y, const auto& t) {
    entered = true;
    while (!refused) {
      std::this_thread::yield();
    }
    return glia::mean_squared_error{}(y, t);
  };
  const glia::batch b = small_batch();
  std::thread first([&] {
    glia::trainer trainer{net, waiting_loss, glia::sgd{}};
    trainer.step(b);
  });
  while (!entered) {
    std::this_thread::yield();
  }
  glia::trainer second{net, glia::mean_squared_error{}, glia::sgd{}};
  const std::string message = test::message_of<glia::value_error>([&] { second.step(b); });
  refused = true;
  first.join();
  CHECK(test::contains(message, "another thread is training this model"));
  second.step(b);  // once it is over
}

TEST_CASE("predictions beside training see whole steps, and a loss may predict") {
  auto net = small();
  const std::vector<float> x(8, 0.5F);
  const auto predicted = [&] {
    std::vector<float> y(3);
    net.predict_batch(x, y);
    return y;
  };
  std::set<std::vector<float>> between_steps;
  std::set<std::vector<float>> observed;
  std::atomic<bool> done{false};
  std::thread reader([&] {
    do {
      observed.insert(predicted());
    } while (!done);
  });
  const auto loss = [&](const auto& y, const auto& t) {
    static_cast<void>(predicted());
    return glia::mean_squared_error{}(y, t);
  };
  glia::trainer trainer{net, loss, glia::adam{}};
  const glia::batch b = small_batch();
  between_steps.insert(predicted());
  for (int step = 0; step < 300; ++step) {
    trainer.step(b);
    between_steps.insert(predicted());
  }
  done = true;
  reader.join();
  CHECK(between_steps.size() > 250);
  CHECK_FALSE(observed.empty());
  CHECK(
      std::includes(between_steps.begin(), between_steps.end(), observed.begin(), observed.end()));
}

namespace {

using small_model = decltype(small());

/// Everything that reads all of a model, by name.
std::vector<std::pair<const char*, std::function<void(const small_model&)>>> readers(
    const std::filesystem::path& file) {
  return {{"get", [](const auto& net) { (void)net.get("dense_0.kernel"); }},
          {"a copy", [](const auto& net) { const small_model copy(net); }},
          {"an assignment",
           [](const auto& net) {
             small_model other = small();
             other = net;
           }},
          {"save", [=](const auto& net) { glia::save(net, file); }},
          {"parameters_of", [](const auto& net) { (void)glia::parameters_of(net); }},
          {"prepare", [](const auto& net) { (void)net.prepare(); }},
          {"calibrate", [](const auto& net) {
             (void)glia::calibrate(net, xt::xarray<float>(xt::ones<float>({4, 8})));
           }}};
}
/// And what changes it.
std::vector<std::pair<const char*, std::function<void(small_model&)>>> writers(
    const std::filesystem::path& file) {
  return {{"set",
           [](auto& net) { net.set("dense_0.bias", xt::xarray<float>(xt::zeros<float>({32}))); }},
          {"load", [=](auto& net) { glia::load(net, file); }},
          {"load_parameters", [](auto& net) {
             glia::load_parameters(net, glia::parameters_of(small()), glia::same_names(net));
           }}};
}

}  // namespace

TEST_CASE(
    "what is read of a model waits for a step of another thread, and what is written throws") {
  const test::temporary_folder folder;
  const auto file = folder.path() / "model.safetensors";
  glia::save(small(), file);
  for (const auto& [name, read] : readers(folder.path() / "other.safetensors")) {
    INFO(name);
    auto net = small();
    std::atomic<bool> entered{false};
    std::atomic<bool> leave{false};
    const auto waiting_loss = [&](const auto& y, const auto& t) {
      entered = true;
      while (!leave) {
        std::this_thread::yield();
      }
      return glia::mean_squared_error{}(y, t);
    };
    std::thread step([&] {
      glia::trainer trainer{net, waiting_loss, glia::sgd{}};
      trainer.step(small_batch());
    });
    while (!entered) {
      std::this_thread::yield();
    }
    std::atomic<bool> has_read{false};
    std::thread reader([&, &look = read] {
      look(net);
      has_read = true;
    });
    for (const auto& [other, write] : writers(file)) {
      INFO(other);
      CHECK(
          test::contains(test::message_of<glia::value_error>([&, &change = write] { change(net); }),
                         "another thread is training this model"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK_FALSE(has_read);
    leave = true;
    step.join();
    reader.join();
    CHECK(has_read);
  }
}

TEST_CASE("callbacks and losses of a training read and change its model") {
  const test::temporary_folder folder;
  const auto file = folder.path() / "model.safetensors";
  auto net = small();
  glia::save(net, file);
  std::size_t done = 0;
  const auto use = [&] {
    for (const auto& [name, read] : readers(folder.path() / "other.safetensors")) {
      read(net);
      ++done;
    }
  };
  const auto change = [&] {
    for (const auto& [name, write] : writers(file)) {
      write(net);
      ++done;
    }
  };
  bool read_in_loss = false;  // once, as a loss is recorded for each shape
  const auto loss = [&](const auto& y, const auto& t) {
    if (!std::exchange(read_in_loss, true)) {
      use();
    }
    return glia::mean_squared_error{}(y, t);
  };
  glia::trainer trainer{net, loss, glia::sgd{}};
  const xt::xarray<float> x = xt::ones<float>({6, 8});
  const xt::xarray<float> y = xt::ones<float>({6, 3});
  trainer.fit(
      glia::target_arrays{x, y},
      {.batch_size = 2, .progress = nullptr, .callbacks = {[&](const glia::training& t) {
                                               use();
                                               if (t.event == glia::event::train_batch_end) {
                                                 change();
                                               }
                                             }}});
  CHECK(done > 7 * 7);
}

TEST_CASE("an update of a loop of one's own waits for who reads the model") {
  auto net = small();
  glia::optimizer_state rule{net, glia::sgd{0.1}};
  const auto initial = net.get("dense_2.bias");
  std::atomic<bool> done{false};
  std::optional<glia::model_access::reading> reads(std::in_place, net.access());
  std::thread loop([&] {
    glia::tape tape(net.device());
    std::vector<glia::gradient_slot> slots;
    const auto y = net.forward(tape.constant(net.device().run(kernels::full{{2, 8}, 1})), slots,
                               glia::run_mode::training, {});
    tape.backward(glia::ops::sum(y));
    rule.update(tape, slots);
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK_FALSE(done);
  reads.reset();
  loop.join();
  CHECK((net.get("dense_2.bias") != initial));
}

TEST_CASE("a file that is saved beside a training is of one moment") {
  // Both halves begin alike and get the same gradients: they are equal after every step.
  const glia::dense half{.units = 512, .kernel_initializer = glia::constant(0)};
  const auto halves = glia::parallel{glia::join::add{}, half, half};
  glia::model net{halves, {64}, glia::cpu<float>({.threads = 1})};
  std::atomic<bool> finished{false};
  std::thread training([&] {
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{}};
    const xt::xarray<float> x = xt::ones<float>({8, 64});
    const xt::xarray<float> y = 100.0F * xt::ones<float>({8, 512});
    for (int i = 0; i < 20; ++i) {
      trainer.fit(glia::target_arrays{x, y}, {.batch_size = 1, .progress = nullptr});
    }
    finished = true;
  });
  std::size_t torn = 0;
  do {
    const auto copy = net;
    torn += copy.get("dense_0.kernel") == copy.get("dense_1.kernel") ? 0 : 1;
    const glia::tensor_map parameters = glia::parameters_of(net);
    torn += parameters.at("dense_0.kernel") == parameters.at("dense_1.kernel") ? 0 : 1;
  } while (!finished);
  training.join();
  CHECK(torn == 0);
}

TEST_CASE("a child of fork predicts, and destroys its parent's models and devices") {
#if GLIA_TEST_HAS_POSIX
  auto net = std::make_unique<decltype(large())>(large());
  const std::vector<float> x(4 * 144, 0.25F);
  std::vector<float> expected(40);
  net->predict_batch(x, expected);
  std::atomic<bool> done{false};
  std::thread busy([&] {  // so that locks may be held at the moment of forking
    std::vector<float> y(40);
    while (!done) {
      net->predict_batch(x, y);
    }
  });
  int failed = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      std::vector<float> y(40);
      net->predict_batch(x, y);
      const bool right = y == expected;
      net.reset();
      _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  done = true;
  busy.join();
  CHECK(failed == 0);
#else
  GLIA_SKIP("this system has no fork");
#endif
}

namespace {

/// Gives its parameter, whatever comes.
struct answer {
  static constexpr std::string_view type_name = "answer";
  [[nodiscard]] glia::variable operator()(glia::scope& s, const glia::variable& x) const {
    return s.parameter("value", x.shape(), three);
  }
  [[nodiscard]] static std::string description() { return "answer"; }
  glia::initializer three = glia::constant(3);
};

}  // namespace

TEST_CASE("an output that is a parameter lasts longer than the model") {
  const glia::cpu<float> device({.threads = 1});
  glia::tape tape(device);
  const auto y = [&] {
    const glia::model net{answer{}, {3}, device};
    return net.infer(tape.constant(device.run(kernels::full{{1, 3}, 0})));
  }();
  const auto other = device.run(kernels::full{{1, 3}, 7});  // would take the parameter's place
  CHECK(test::values_of(device, y.value()) == std::vector<float>(3, 3.0F));
}

TEST_CASE("infer keeps nothing for a backward pass and refuses what needs one") {
  const auto net = small();
  glia::tape tape(net.device());
  const auto x = tape.leaf(net.device().run(kernels::full{{1, 8}, 0}));
  CHECK(test::contains(test::message_of<glia::value_error>([&] { (void)net.infer(x); }),
                       "infer expected a constant"));
}
