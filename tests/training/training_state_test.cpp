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
  explicit training(const Optimizer& how, std::uint64_t seed = 1,
                    const glia::device& device = glia::cpu())
      : net(stateful_network(), {2}, device), trainer(net, {}, how, {.seed = seed}) {}
  void steps(std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t i = first; i < end; ++i) {
      trainer.step(batch_of(5 + i % 3, i));
    }
  }
};

}  // namespace

TEST_CASE("a training goes on from its state, bit for bit") {
  const glia::adam how{.learning_rate = glia::cosine_decay(0.05, 20)};
  training one(how, 7);
  one.steps(0, 4);
  const glia::training_state kept = one.trainer.state();
  CHECK(kept.step == 4);
  CHECK(kept.seed == 7);
  one.steps(4, 9);
  // Another model and trainer, of other parameters and another seed.
  training other(how);
  other.steps(20, 22);
  other.trainer.restore(kept);
  CHECK(other.trainer.state() == kept);
  other.steps(4, 9);
  CHECK(other.trainer.state() == one.trainer.state());
  CHECK_FALSE(other.trainer.state() == kept);
}

TEST_CASE("a state holds parameters, statistics and slots by name") {
  training one(glia::adam{});
  one.steps(0, 1);
  std::vector<std::string> names;
  const auto state = one.trainer.state();
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
  const auto kernel = one.net.get("head.kernel");
  CHECK(std::get<std::vector<float>>(state.tensors[14].values) ==
        std::vector<float>(kernel.begin(), kernel.end()));
}

TEST_CASE("epochs go on where they were, shuffled as if nothing had been between") {
  const test::quadrants data{40};
  const glia::fit_options two{.epochs = 2, .batch_size = 8, .progress = nullptr};
  training one(glia::sgd{.learning_rate = 0.1, .momentum = 0.9});
  one.trainer.fit(data, two);
  const auto between = one.trainer.state();
  CHECK(between.epoch == 2);
  CHECK(between.position == 0);
  one.trainer.fit(data, two);
  training other(glia::sgd{.learning_rate = 0.1, .momentum = 0.9});
  other.trainer.restore(between);
  other.trainer.fit(data, two);
  CHECK(other.trainer.state().tensors == one.trainer.state().tensors);
  CHECK(other.trainer.state().epoch == 4);
}

TEST_CASE("a state of another training is refused, and nothing changes") {
  training one(glia::adam{});
  training plain(glia::sgd{});
  training exact(glia::sgd{}, 1, glia::cpu<double>());
  plain.steps(0, 2);
  const auto before = plain.trainer.state();
  const auto refused = [&](const glia::training_state& state) {
    return test::message_of<glia::value_error>([&] { plain.trainer.restore(state); });
  };
  CHECK(test::contains(refused(one.trainer.state()), "expected the tensor 'dense_0.bias'"));
  CHECK(test::contains(refused(exact.trainer.state()), "and type float, got 'dense_0.kernel'"));
  auto fewer = before;
  fewer.tensors.pop_back();
  CHECK(test::contains(refused(fewer), "the state has no tensor 'head.bias'"));
  auto more = before;
  more.tensors.push_back(more.tensors[0]);
  CHECK(test::contains(refused(more),
                       "the state has 9 tensors, but the model and its optimizer have 8"));
  auto torn = before;
  std::get<std::vector<float>>(torn.tensors[3].values).pop_back();
  CHECK_FALSE(refused(torn).empty());
  CHECK(plain.trainer.state() == before);
}
