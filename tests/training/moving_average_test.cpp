#include <glia/training/moving_average.hpp>

#include "catch.hpp"
#include "helpers.hpp"

using glia::event;
using test::message_of;

namespace {

/// A model with one parameter w, whose loss is w^2: sgd(0.1) multiplies w by 0.8 in each step.
struct shrinking_weight {
  glia::target_arrays data{xt::ones<float>({1, 1}), xt::zeros<float>({1, 1})};
  glia::model<glia::dense> net{
      glia::dense{.units = 1, .use_bias = false, .kernel_initializer = glia::constant(1)}, {1}};
  glia::trainer<glia::model<glia::dense>, glia::mean_squared_error, glia::sgd> trainer{
      net, {}, {0.1}};

  [[nodiscard]] double weight() const { return test::parameters_of(net).at(0); }
  glia::history fit(std::size_t epochs, const std::vector<glia::callback>& callbacks,
                    bool resume = false) {
    return trainer.fit(
        data, data,
        {.epochs = epochs, .progress = nullptr, .callbacks = callbacks, .resume = resume});
  }
};

/// Interrupts a training after a step.
glia::callback interruption(std::size_t step) {
  return glia::on_event(event::train_batch_end, [=](const glia::training& t) {
    return t.step == step ? glia::interrupt_training("the test") : glia::keep_training();
  });
}

}  // namespace

TEST_CASE("a model gets the moving average of its parameters at the end of a training") {
  shrinking_weight s;
  std::vector<double> validated;
  const auto validation = glia::on_event(event::epoch_end, [&](const glia::training& t) {
    validated.push_back(t.history.epochs.back().validation->loss);
  });
  (void)s.fit(3, {glia::moving_average{.momentum = 0.5}, validation});
  // The parameters 0.8, 0.64 and 0.512 have the averages 0.8, 0.72 and 0.616.
  CHECK(s.weight() == Approx(0.616));
  REQUIRE(validated.size() == 3);
  CHECK(validated[2] == Approx(0.512 * 0.512));

  shrinking_weight second;
  (void)second.fit(4, {glia::moving_average{.momentum = 0.5, .every_steps = 2}});
  CHECK(second.weight() == Approx((0.64 + 0.4096) / 2));

  shrinking_weight last;
  (void)last.fit(3, {glia::moving_average{.momentum = 0}});
  CHECK(last.weight() == Approx(0.512));

  shrinking_weight without_updates;
  (void)without_updates.fit(3, {glia::moving_average{.every_steps = 4}});
  CHECK(without_updates.weight() == Approx(0.512));
}

TEST_CASE("a training that a callback stops ends with averages, an interrupted one does not") {
  const auto stop = [](bool interrupts) {
    shrinking_weight s;
    const auto at_three = glia::on_event(event::train_batch_end, [=](const glia::training& t) {
      return t.step < 3   ? glia::keep_training()
             : interrupts ? glia::interrupt_training("the test")
                          : glia::stop_training("the test");
    });
    (void)s.fit(9, {glia::moving_average{.momentum = 0.5}, at_three});
    return s.weight();
  };
  CHECK(stop(false) == Approx(0.616));
  CHECK(stop(true) == Approx(0.512));
}

TEST_CASE("moving averages of a resumed training are those of one that was not interrupted") {
  const test::quadrants data{45};
  const glia::moving_average average{.momentum = 0.9};
  const auto network =
      glia::sequential{glia::dense{6, glia::relu}, glia::batch_norm{}, glia::dense{4}};
  const auto fit = [&](auto& trainer, std::size_t epochs, std::vector<glia::callback> callbacks) {
    return trainer.fit(data, {.epochs = epochs,
                              .batch_size = 10,
                              .progress = nullptr,
                              .callbacks = std::move(callbacks),
                              .resume = true});
  };
  const auto trained = [&](const std::vector<std::size_t>& ends, std::size_t interrupted_step) {
    glia::model net{network, {2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.01}};
    if (interrupted_step > 0) {
      (void)fit(trainer, 4, {average, interruption(interrupted_step)});
      // As from a checkpoint, the training continues in another trainer.
      const glia::training_state saved = trainer.state();
      glia::model other_net{network, {2}, glia::cpu<float>(), {.seed = 7}};
      glia::trainer other{other_net, glia::softmax_cross_entropy{}, glia::adam{0.01}};
      other.restore(saved);
      (void)fit(other, 4, {average});
      return test::parameters_of(other_net);
    }
    for (const std::size_t epochs : ends) {
      (void)fit(trainer, epochs, {average});
    }
    return test::parameters_of(net);
  };
  const std::vector<float> expected = trained({4}, 0);
  CHECK(trained({}, 7) == expected);
  CHECK(trained({}, 10) == expected);
  CHECK(trained({2, 4}, 0) == expected);     // the averages were given to the model in between
  CHECK(trained({1, 1, 4}, 0) == expected);  // nothing was left to do in between
  CHECK(trained({4, 4}, 0) == expected);
}

TEST_CASE("running statistics and frozen parameters are not averaged") {
  const test::quadrants data{40};
  const auto network =
      glia::sequential{glia::frozen{glia::dense{6}}, glia::batch_norm{}, glia::dense{4}};
  const auto train = [&](const std::vector<glia::callback>& callbacks) {
    glia::model net{network, {2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.5}};
    (void)trainer.fit(data,
                      {.epochs = 3, .batch_size = 10, .progress = nullptr, .callbacks = callbacks});
    std::vector<std::vector<double>> values;
    for (const glia::named_tensor& p : trainer.state().tensors) {
      values.push_back(p.as<double>());
    }
    std::vector<bool> trainable;
    for (const glia::parameter& p : net.parameters()) {
      trainable.push_back(p.spec.trainable);
    }
    return std::pair(values, trainable);
  };
  const auto [averaged, trainable] = train({glia::moving_average{}});
  const auto [plain, same] = train({});
  REQUIRE(averaged.size() == trainable.size());
  for (std::size_t i = 0; i < averaged.size(); ++i) {
    CHECK((averaged[i] == plain[i]) == !trainable[i]);
  }
  CHECK(std::count(trainable.begin(), trainable.end(), false) == 4);
}

TEST_CASE("a moving average with options out of their range is refused") {
  shrinking_weight s;
  const auto refused_average = [&](const glia::moving_average& average) {
    return message_of<glia::value_error>([&] { (void)s.fit(1, {average}); });
  };
  CHECK(refused_average({.momentum = 1}) ==
        "moving_average: expected a momentum in [0, 1) and every_steps of at least 1, got 1 and 1");
  CHECK(test::contains(refused_average({.momentum = -0.1}), "got -0.1 and 1"));
  CHECK(test::contains(refused_average({.every_steps = 0}), "got 0.99 and 0"));
}
