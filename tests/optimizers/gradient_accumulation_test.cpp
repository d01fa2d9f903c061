#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

using test::contains;
using test::message_of;

namespace {

/// Samples (24, 5) and their classes.
glia::labeled_arrays rows_in_parts(std::size_t first, std::size_t count) {
  xt::xarray<float> x = xt::zeros<float>({count, std::size_t{5}});
  xt::xarray<int> y = xt::zeros<int>({count});
  for (std::size_t n = 0; n < count; ++n) {
    glia::random_stream random({.seed = 5, .step = static_cast<std::uint32_t>(first + n)});
    for (std::size_t i = 0; i < 5; ++i) {
      x(n, i) = static_cast<float>(random.normal());
    }
    y(n) = static_cast<int>((first + n) % 3);
  }
  return {x, y};
}

const glia::sequential network_of_rows{glia::dense{7, glia::tanh}, glia::dense{3}};

/// The parameters after six batches of 8 in order, of which a step takes `batches` at a time.
template <class Rule>
std::vector<float> after_batches(const glia::device& device, const Rule& rule,
                                 std::size_t batch_size, std::size_t epochs) {
  glia::model net{network_of_rows, {5}, device};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, rule};
  trainer.fit(rows_in_parts(0, 24),
              {.epochs = epochs, .batch_size = batch_size, .shuffle = false, .progress = nullptr});
  return test::parameters_of(net);
}

template <class Rule>
void check_accumulated(const Rule& rule) {
  INFO(rule);
  const glia::cpu<float> device;
  const std::vector<float> whole = after_batches(device, rule, 24, 4);
  const std::vector<float> parts =
      after_batches(device, glia::gradient_accumulation{rule, 3}, 8, 4);
  CHECK(test::distance(whole, parts) < tolerance::golden);
  CHECK(test::distance(whole, after_batches(device, rule, 8, 4)) > 1e-3);
  // On other backends, too; and by one batch at a time nothing changes.
  const auto reference =
      after_batches(glia::reference<float>{}, glia::gradient_accumulation{rule, 3}, 8, 4);
  CHECK(test::distance(parts, reference) < tolerance::golden);
  CHECK(after_batches(device, rule, 8, 2) ==
        after_batches(device, glia::gradient_accumulation{rule, 1}, 8, 2));
}

}  // namespace

TEST_CASE("gradients of several batches make one step, as those of one large batch") {
  check_accumulated(glia::sgd{.learning_rate = 0.1, .momentum = 0.9});
  check_accumulated(
      glia::adam{.learning_rate = glia::exponential_decay(0.01, 2, 0.5, {.staircase = true})});
  check_accumulated(glia::adamw{.learning_rate = 0.01, .weight_decay = 0.1});
  check_accumulated(glia::rmsprop{.learning_rate = 0.01});
  check_accumulated(glia::adagrad{.learning_rate = 0.05});
}

TEST_CASE("nothing changes until enough batches have come, and a resumed training goes on there") {
  const glia::gradient_accumulation rule{glia::adam{.learning_rate = 0.01}, 3};
  glia::model net{network_of_rows, {5}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, rule};
  const std::vector<float> first = test::parameters_of(net);
  const auto step = [](auto& learner, std::size_t part) {
    learner.fit(rows_in_parts(8 * part, 8),
                {.batch_size = 8, .shuffle = false, .progress = nullptr});
  };
  step(trainer, 0);
  step(trainer, 1);
  CHECK(test::parameters_of(net) == first);
  const glia::training_state state = trainer.state();
  step(trainer, 2);
  CHECK(test::parameters_of(net) != first);

  glia::model other{network_of_rows, {5}, glia::cpu<float>{}, {.seed = 9}};
  glia::trainer resumed{other, glia::softmax_cross_entropy{}, rule};
  resumed.restore(state);
  step(resumed, 2);
  CHECK(test::parameters_of(other) == test::parameters_of(net));
}

TEST_CASE("an accumulated optimizer describes itself, and takes at least one batch") {
  const glia::gradient_accumulation rule{glia::sgd{.learning_rate = 0.1}, 4};
  CHECK(glia::text(rule) == "accumulated(sgd(0.1), 4 batches)");
  CHECK(rule.learning_rate(3) == 0.1);
  CHECK(rule == glia::gradient_accumulation{glia::sgd{.learning_rate = 0.1}, 4});
  CHECK(rule != glia::gradient_accumulation{glia::sgd{.learning_rate = 0.1}, 2});
  glia::model net{network_of_rows, {5}};
  CHECK(contains(message_of<glia::value_error>([&] {
                   glia::trainer trainer{net, glia::softmax_cross_entropy{},
                                         glia::gradient_accumulation{glia::sgd{}, 0}};
                   trainer.fit(rows_in_parts(0, 8), {.progress = nullptr});
                 }),
                 "gradient_accumulation: expected at least 1 step, got 0"));
}
