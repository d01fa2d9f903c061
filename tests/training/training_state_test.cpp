#include "catch.hpp"
#include "helpers.hpp"

namespace {

auto stateful_network() {
  return glia::sequential{glia::dense{6, glia::tanh}, glia::batch_norm{}, glia::dropout{0.3},
                          glia::named{"head", glia::dense{4}}};
}

glia::batch batch_of(std::size_t size, std::uint32_t seed) {
  glia::batch b;
  b.size = size;
  b.input_shape = {size, 2};
  for (std::size_t i = 0; i < 2 * size; ++i) {
    b.inputs.push_back(
        static_cast<float>(glia::detail::random_bits({.seed = seed}, i) * 0x1p-31 - 1));
  }
  for (std::size_t i = 0; i < size; ++i) {
    b.labels.push_back(static_cast<std::int32_t>(i % 4));
  }
  return b;
}

template <class Optimizer>
struct training {
  glia::model<decltype(stateful_network())> net;
  glia::trainer<decltype(net), glia::softmax_cross_entropy, Optimizer> trainer;
  explicit training(const Optimizer& optimizer, std::uint64_t seed = 1,
                    const glia::device& device = glia::cpu())
      : net(stateful_network(), {2}, device), trainer(net, {}, optimizer, {.seed = seed}) {}
  void steps(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = first; i < end; ++i) {
      trainer.step(batch_of(5 + i % 3, i));
    }
  }
};

}  // namespace

TEST_CASE("a training goes on from its state, bit for bit") {
  const glia::adam optimizer{.learning_rate = glia::cosine_decay(0.05, 20)};
  training original(optimizer, 7);
  original.steps(0, 4);
  const glia::training_state saved = original.trainer.state();
  CHECK(saved.step == 4);
  CHECK(saved.seed == 7);
  original.steps(4, 9);
  // Another model and trainer, of other parameters and another seed.
  training resumed(optimizer);
  resumed.steps(20, 22);
  resumed.trainer.restore(saved);
  CHECK(resumed.trainer.state() == saved);
  resumed.steps(4, 9);
  CHECK(resumed.trainer.state() == original.trainer.state());
  CHECK_FALSE(resumed.trainer.state() == saved);
}

TEST_CASE("a state holds parameters, statistics and slots by name") {
  training original(glia::adam{});
  original.steps(0, 1);
  std::vector<std::string> names;
  const auto state = original.trainer.state();
  for (const glia::named_tensor& t : state.tensors) {
    names.push_back(t.name);
  }
  CHECK(names == std::vector<std::string>{"dense_0.kernel",
                                          "dense_0.kernel.slot0",
                                          "dense_0.kernel.slot1",
                                          "dense_0.bias",
                                          "dense_0.bias.slot0",
                                          "dense_0.bias.slot1",
                                          "batch_norm_0.gamma",
                                          "batch_norm_0.gamma.slot0",
                                          "batch_norm_0.gamma.slot1",
                                          "batch_norm_0.beta",
                                          "batch_norm_0.beta.slot0",
                                          "batch_norm_0.beta.slot1",
                                          "batch_norm_0.moving_mean",
                                          "batch_norm_0.moving_variance",
                                          "head.kernel",
                                          "head.kernel.slot0",
                                          "head.kernel.slot1",
                                          "head.bias",
                                          "head.bias.slot0",
                                          "head.bias.slot1"});
  const auto kernel = original.net.get("head.kernel");
  CHECK(std::get<std::vector<float>>(state.tensors[14].values) ==
        std::vector<float>(kernel.begin(), kernel.end()));
}

TEST_CASE("epochs go on where they were, shuffled as if nothing had been between") {
  const test::quadrants data{40};
  const glia::fit_options two{.epochs = 2, .batch_size = 8, .progress = nullptr};
  training original(glia::sgd{.learning_rate = 0.1, .momentum = 0.9});
  original.trainer.fit(data, two);
  const auto saved = original.trainer.state();
  CHECK(saved.epoch == 2);
  CHECK(saved.position == 0);
  original.trainer.fit(data, two);
  training resumed(glia::sgd{.learning_rate = 0.1, .momentum = 0.9});
  resumed.trainer.restore(saved);
  resumed.trainer.fit(data, two);
  CHECK(resumed.trainer.state().tensors == original.trainer.state().tensors);
  CHECK(resumed.trainer.state().epoch == 4);
}

TEST_CASE("a state of another training is refused, and nothing changes") {
  training adaptive(glia::adam{});
  training plain(glia::sgd{});
  training exact(glia::sgd{}, 1, glia::cpu<double>());
  plain.steps(0, 2);
  const auto original = plain.trainer.state();
  const auto refused = [&](const glia::training_state& state) {
    return test::message_of<glia::value_error>([&] { plain.trainer.restore(state); });
  };
  CHECK(test::contains(refused(adaptive.trainer.state()), "expected the tensor 'dense_0.bias'"));
  CHECK(test::contains(refused(exact.trainer.state()), "and type float, got 'dense_0.kernel'"));
  auto reduced = original;
  reduced.tensors.pop_back();
  CHECK(test::contains(refused(reduced), "the state has no tensor 'head.bias'"));
  auto extended = original;
  extended.tensors.push_back(extended.tensors[0]);
  CHECK(test::contains(refused(extended),
                       "the state has 9 tensors, but the model and its optimizer have 8"));
  auto torn = original;
  std::get<std::vector<float>>(torn.tensors[3].values).pop_back();
  CHECK_FALSE(refused(torn).empty());
  CHECK(plain.trainer.state() == original);
}
