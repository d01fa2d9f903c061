#include <csignal>
#include <glia/training/csv_logger.hpp>
#include <glia/training/early_stopping.hpp>
#include <glia/training/reduce_lr_on_plateau.hpp>
#include <glia/training/terminate_on_nan.hpp>
#include <sstream>

#include "catch.hpp"
#include "helpers.hpp"

using glia::event;
using test::contains;
using test::message_of;

namespace {

struct observed {
  glia::model<decltype(glia::sequential{glia::dense{8, glia::tanh}, glia::dense{4}})> net{
      glia::sequential{glia::dense{8, glia::tanh}, glia::dense{4}}, {2}};
  glia::trainer<decltype(net), glia::softmax_cross_entropy, glia::sgd> trainer{net, {}, {0.1}};
};

/// A callback that puts scores of the test's own in place of those that were measured.
auto with_losses(glia::history& h, const std::vector<double>& losses) {
  for (const double loss : losses) {
    glia::epoch_record e;
    e.epoch = h.epochs.size() + 1;
    e.learning_rate = 0.1;
    e.validation = glia::scores{.loss = loss};
    h.epochs.push_back(e);
  }
}

/// A training whose learning rate callbacks scale.
struct scaled_training final : glia::training {
  scaled_training(const glia::model_plan& model, const glia::shape& sample, const glia::history& h)
      : glia::training(model, sample, h) {}

  [[nodiscard]] double loss() const override { return 0; }
  [[nodiscard]] double step_loss() const override { return 0; }
  [[nodiscard]] double learning_rate() const override { return scale; }
  [[nodiscard]] glia::training_state state() const override { return {}; }
  void restore(const glia::training_state& /*saved*/) const override {}
  [[nodiscard]] std::vector<glia::named_tensor> parameters() const override { return {}; }
  void set_parameters(std::span<const glia::named_tensor> /*values*/) const override {}
  void scale_learning_rate(double factor) const override { scale *= factor; }
  [[nodiscard]] std::string trace_not_finite(
      const glia::training_state& /*earlier*/) const override {
    return {};
  }
  [[nodiscard]] glia::training_memory memory() const override { return {}; }
  void record_timeline(glia::timeline* /*times*/) const override {}
  void add_note(const std::string& /*line*/) const override {}
  [[nodiscard]] std::vector<glia::named_tensor>& callback_state() const override { return tensors; }

  mutable double scale = 1;
  mutable std::vector<glia::named_tensor> tensors;
};

/// What the rate is multiplied by after each epoch of these losses.
std::vector<double> scales(const glia::reduce_lr_on_plateau& callback,
                           const std::vector<double>& losses, double rate = 0.1) {
  std::vector<double> result;
  glia::history h;
  const glia::model_plan plan;
  const glia::shape sample;
  scaled_training t(plan, sample, h);
  t.event = event::epoch_end;
  for (const double loss : losses) {
    with_losses(h, {loss});
    h.epochs.back().learning_rate = rate * t.scale;
    callback(t);
    result.push_back(t.scale);
  }
  return result;
}

}  // namespace

TEST_CASE("callbacks are told of every moment, in order, and know where the training is") {
  observed o;
  std::vector<std::string> told;
  const auto tell = [&](const glia::training& t) {
    static constexpr const char* names[] = {"begins",     "pass",  "epoch begins", "step",
                                            "validation", "epoch", "ends"};
    told.push_back(glia::text(names[static_cast<std::size_t>(t.event)], ' ', t.epoch, '/', t.epochs,
                              ' ', t.step, ' ', t.samples_done, '/', t.epoch_samples, ' ',
                              t.history.epochs.size()));
  };
  o.trainer.fit(test::quadrants{25}, test::quadrants{5},
                {.epochs = 2, .batch_size = 10, .progress = nullptr, .callbacks = {tell}});
  CHECK(told == std::vector<std::string>{
                    "begins 0/2 0 0/25 0", "epoch begins 1/2 0 0/25 0", "step 1/2 1 10/25 0",
                    "step 1/2 2 20/25 0", "step 1/2 3 25/25 0", "validation 1/2 3 25/25 0",
                    "epoch 1/2 3 0/25 1", "epoch begins 2/2 3 0/25 1", "step 2/2 4 10/25 1",
                    "step 2/2 5 20/25 1", "step 2/2 6 25/25 1", "validation 2/2 6 25/25 1",
                    "epoch 2/2 6 0/25 2", "ends 2/2 6 0/25 2"});
}

TEST_CASE("callbacks read the loss of each step, on one batch alone") {
  const test::quadrants data{25};
  const auto losses_of_steps = [&](const std::vector<std::size_t>& observed_steps) {
    observed o;
    std::vector<double> losses;
    const auto read = glia::on_event(event::train_batch_end, [&](const glia::training& t) {
      if (std::count(observed_steps.begin(), observed_steps.end(), t.step) > 0) {
        losses.push_back(t.step_loss());
      }
    });
    const auto h = o.trainer.fit(data, {.epochs = 2,
                                        .batch_size = 10,
                                        .shuffle = false,
                                        .progress = nullptr,
                                        .callbacks = {read}});
    losses.push_back(h.epochs[0].training.loss);
    return losses;
  };
  observed alone;
  std::vector<double> expected;
  double sum = 0;
  for (const std::vector<std::uint32_t>& samples :
       {std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
        {10, 11, 12, 13, 14, 15, 16, 17, 18, 19},
        {20, 21, 22, 23, 24}}) {
    glia::batch b;
    glia::dataset_view(data).gather(samples, b);
    glia::running_scores scores(alone.net.device(), {});
    alone.trainer.step(b, &scores);
    CHECK(scores.last_loss() == scores.loss());
    expected.push_back(scores.loss());
    sum += static_cast<double>(samples.size()) * scores.loss();
  }
  const std::vector<double> each = losses_of_steps({1, 2, 3});
  REQUIRE(each.size() == 4);
  CHECK(std::vector(each.begin(), each.end() - 1) == expected);
  CHECK(std::abs(each.back() - sum / 25) < 1e-12);
  // A loss that is read only now and then is that of its own step, too.
  CHECK(losses_of_steps({3}) == std::vector{expected[2], each.back()});
  CHECK(losses_of_steps({2, 3}) == std::vector{expected[1], expected[2], each.back()});
}

TEST_CASE("the loss of a step before the first one is 0") {
  observed o;
  std::vector<double> losses;
  const auto read = glia::on_event(
      event::epoch_begin, [&](const glia::training& t) { losses.push_back(t.step_loss()); });
  o.trainer.fit(test::quadrants{10}, {.epochs = 2, .progress = nullptr, .callbacks = {read}});
  CHECK(losses == std::vector{0.0, 0.0});
}

TEST_CASE("callbacks read the learning rate of the last step, whoever scales the next one") {
  glia::model net{glia::dense{4}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{[](std::size_t step) {
                          return 1 / static_cast<double>(1 + step);
                        }}};
  std::vector<double> rates;
  const auto read = [&](const glia::training& t) {
    if (t.event == event::epoch_begin || t.event == event::train_batch_end) {
      rates.push_back(t.learning_rate());
    }
  };
  const auto halve = glia::on_event(event::train_batch_end,
                                    [](const glia::training& t) { t.scale_learning_rate(0.5); });
  const auto h =
      trainer.fit(test::quadrants{30},
                  {.epochs = 1, .batch_size = 10, .progress = nullptr, .callbacks = {halve, read}});
  CHECK(rates == std::vector{1.0, 1.0, 0.5 * (1.0 / 2), 0.25 * (1.0 / 3)});
  CHECK(h.epochs[0].learning_rate == 0.25 * (1.0 / 3));
}

TEST_CASE("a callback stops a training at any moment, and says why") {
  const auto stopped_at = [](event stop_event, std::size_t step) {
    observed o;
    std::ostringstream out;
    const auto stop = [&](const glia::training& t) {
      return t.event == stop_event && t.step == step ? glia::stop_training("enough")
                                                     : glia::keep_training();
    };
    const auto h =
        o.trainer.fit(test::quadrants{25}, test::quadrants{5},
                      {.epochs = 3, .batch_size = 10, .progress = &out, .callbacks = {stop}});
    CHECK(h.stop_reason == "enough");
    CHECK_FALSE(h.interrupted);
    CHECK(contains(out.str(), ": enough\n"));
    return glia::text(o.trainer.step_count(), ' ', h.epochs.size(), ' ',
                      !h.epochs.empty() && h.epochs.back().validation ? "validated" : "");
  };
  CHECK(stopped_at(event::train_begin, 0) == "0 0 ");
  CHECK(stopped_at(event::epoch_begin, 3) == "3 1 validated");
  CHECK(stopped_at(event::train_batch_end, 4) == "4 2 ");
  CHECK(stopped_at(event::train_batches_end, 3) == "3 1 ");
  CHECK(stopped_at(event::epoch_end, 3) == "3 1 validated");
}

TEST_CASE("a training that is gone on with and stopped at once shows no epoch again") {
  const auto shown = [](std::size_t first_stop, event second_stop) {
    observed o;
    glia::fit_options options{.epochs = 3, .batch_size = 10, .progress = nullptr};
    const auto fit = [&](event stop_event, std::size_t step) {
      options.callbacks = {[=](const glia::training& t) {
        return t.event == stop_event && t.step == step ? glia::interrupt_training("the test")
                                                       : glia::keep_training();
      }};
      return o.trainer.fit(test::quadrants{25}, options);
    };
    fit(event::train_batch_end, first_stop);
    std::ostringstream out;
    options.progress = &out;
    options.resume = true;
    const auto h = fit(second_stop, first_stop);
    CHECK(h.interrupted);
    CHECK(h.epochs.size() == first_stop / 3);
    return out.str();
  };
  for (const event stop_event : {event::train_begin, event::epoch_begin}) {
    CHECK(shown(1, stop_event) == "interrupted; stopped after step 1\n");
    CHECK(shown(5, stop_event) == "interrupted; stopped after step 5\n");
  }
}

TEST_CASE("Ctrl-C can be left to others") {
  observed o;
  const auto previous_handler = std::signal(SIGINT, SIG_IGN);
  const auto ctrl_c = [](const glia::training&) { std::raise(SIGINT); };
  CHECK_FALSE(o.trainer
                  .fit(test::quadrants{10},
                       {.progress = nullptr, .callbacks = {ctrl_c}, .stop_at_interrupt = false})
                  .interrupted);
  std::signal(SIGINT, previous_handler);
}

TEST_CASE("what a callback throws comes out of fit, and the training can be gone on with") {
  observed first;
  observed second;
  const auto fails = [](const glia::training& t) {
    glia::require<glia::value_error>(t.step != 4, "the callback's own");
  };
  const glia::fit_options plain{.epochs = 3, .batch_size = 10, .progress = nullptr};
  glia::fit_options failing = plain;
  failing.callbacks = {fails};
  CHECK(message_of<glia::value_error>([&] { first.trainer.fit(test::quadrants{25}, failing); }) ==
        "the callback's own");
  glia::fit_options resumed = plain;
  resumed.resume = true;
  const auto h = first.trainer.fit(test::quadrants{25}, resumed);
  const auto whole = second.trainer.fit(test::quadrants{25}, plain);
  CHECK(first.trainer.state().tensors == second.trainer.state().tensors);
  REQUIRE(h.epochs.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(h.epochs[i].training == whole.epochs[i].training);
    CHECK(h.epochs[i].samples == 25);
  }
}

TEST_CASE("an interrupted training that is resumed ends as one that was not, wherever that was") {
  const test::quadrants data{45};
  const test::quadrants validation{20};
  const auto network =
      glia::sequential{glia::dense{6, glia::relu}, glia::dropout{0.4}, glia::dense{4}};
  const auto fit = [&](const std::vector<std::pair<event, std::size_t>>& interruptions) {
    glia::model net{network, {2}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{},
                          glia::adam{.learning_rate = glia::cosine_decay(0.05, 30)}};
    std::size_t fits = 0;
    const auto interrupts = [&](const glia::training& t) {
      return fits < interruptions.size() && t.event == interruptions[fits].first &&
                     t.step == interruptions[fits].second
                 ? glia::interrupt_training("the test")
                 : glia::keep_training();
    };
    glia::history h;
    for (; fits <= interruptions.size(); ++fits) {
      h = trainer.fit(data, validation,
                      {.epochs = 5,
                       .batch_size = 10,
                       .metrics = {glia::accuracy(), glia::top_k_accuracy(2)},
                       .progress = nullptr,
                       .callbacks = {interrupts,
                                     glia::reduce_lr_on_plateau{.monitor = "validation_loss",
                                                                .factor = 0.5,
                                                                .patience = 1,
                                                                .min_delta = 1},
                                     glia::early_stopping{.patience = 4, .min_delta = 1}},
                       .resume = fits > 0});
      CHECK(h.interrupted == (fits < interruptions.size()));
    }
    for (glia::epoch_record& e : h.epochs) {
      e.seconds = e.samples_per_second = 0;
    }
    auto state = trainer.state();
    state.history.clear();
    state.seconds = 0;
    return std::pair{std::move(state), std::move(h.epochs)};
  };
  const auto whole = fit({});
  REQUIRE(whole.second.size() == 5);
  REQUIRE(whole.first.learning_rate_scale == 0.0625);
  CHECK(fit({{event::train_batch_end, 7}}) == whole);
  CHECK(fit({{event::train_begin, 0}}) == whole);
  CHECK(fit({{event::train_batch_end, 5}}) == whole);  // the last one of an epoch
  CHECK(fit({{event::train_batches_end, 5}, {event::epoch_begin, 5}}) == whole);
  CHECK(fit({{event::epoch_end, 10},
             {event::train_batch_end, 11},
             {event::train_batch_end, 12},
             {event::train_batch_end, 24}}) == whole);
}

TEST_CASE("resume goes on up to more epochs, and does nothing where none are left") {
  observed first;
  observed second;
  const auto options = [](std::size_t epochs, bool resume) {
    return glia::fit_options{
        .epochs = epochs, .batch_size = 10, .progress = nullptr, .resume = resume};
  };
  first.trainer.fit(test::quadrants{25}, options(2, false));
  CHECK(first.trainer.fit(test::quadrants{25}, options(2, true)).epochs.size() == 2);
  CHECK(first.trainer.fit(test::quadrants{25}, options(5, true)).epochs.size() == 5);
  second.trainer.fit(test::quadrants{25}, options(5, false));
  CHECK(first.trainer.state().tensors == second.trainer.state().tensors);
  // Without resume the next epoch begins.
  CHECK(first.trainer.fit(test::quadrants{25}, options(1, false)).epochs.size() == 1);
  CHECK(first.trainer.state().epoch == 6);
}

TEST_CASE("an epoch that is cut in another way cannot be gone on with") {
  observed o;
  const auto interrupts = [](const glia::training& t) {
    return t.step == 1 ? glia::interrupt_training("the test") : glia::keep_training();
  };
  o.trainer.fit(test::quadrants{25},
                {.batch_size = 10, .progress = nullptr, .callbacks = {interrupts}});
  const auto error = [&](std::size_t samples, glia::fit_options options) {
    options.progress = nullptr;
    options.resume = true;
    return message_of<glia::value_error>([&] { o.trainer.fit(test::quadrants{samples}, options); });
  };
  CHECK(
      error(25, {.batch_size = 5}) ==
      "fit: the epoch to resume has 25 shuffled samples in batches of 10, but this call of fit "
      "has 25 shuffled samples in batches of 5; either finish this epoch with the data and options "
      "that it had, which end it with .epochs = 1, and change them then; or begin a new epoch "
      "with .resume = false, which, with checkpoints, needs another folder and glia::load(net, "
      "checkpoint)");
  CHECK(contains(error(24, {.batch_size = 10}), "24 shuffled samples"));
  CHECK(
      contains(error(25, {.batch_size = 10, .shuffle = false}), "this call of fit has 25 samples"));
  CHECK(contains(error(25, {.batch_size = 10, .metrics = {glia::top_k_accuracy(2)}}),
                 "has the metrics accuracy, but this call of fit has top_2_accuracy; use"));
  // The advice: finish the epoch first, or begin the next one.
  const glia::training_state interrupted = o.trainer.state();
  CHECK(error(25, {.epochs = 1, .batch_size = 10}).empty());
  CHECK(o.trainer.state().step == 3);
  CHECK(error(25, {.epochs = 2, .batch_size = 5}).empty());
  CHECK(o.trainer.state().step == 8);
  CHECK(o.trainer.state().history.size() == 2);
  o.trainer.restore(interrupted);
  CHECK(contains(error(25, {.batch_size = 5}), ".epochs = 1"));
  o.trainer.fit(test::quadrants{25}, {.batch_size = 5, .progress = nullptr, .resume = false});
  CHECK(o.trainer.state().step == 6);
  CHECK(o.trainer.state().epoch == 2);
}

TEST_CASE("early stopping stops after the patience and gives back the best parameters") {
  const auto run = [](std::size_t patience, bool restore_best) {
    observed o;
    std::vector<xt::xarray<float>> kernels;
    // The losses of the validation are those of labels that the training turns away from: it gets
    // worse from the first epoch on.
    const glia::labeled_arrays wrong(xt::xarray<float>{{1, 1}, {-1, -1}},
                                     xt::xarray<std::int32_t>{2, 0});
    const auto note = glia::on_event(event::epoch_end, [&](const glia::training&) {
      kernels.push_back(o.net.get("dense_0.kernel"));
    });
    const auto h = o.trainer.fit(
        test::quadrants{100}, wrong,
        {.epochs = 30,
         .progress = nullptr,
         .callbacks = {note, glia::early_stopping{.patience = patience,
                                                  .restore_best_weights = restore_best}}});
    const auto best = glia::detail::best_of(h, "validation_loss");
    REQUIRE(best.epoch + patience == h.epochs.size());
    REQUIRE(h.epochs.size() < 30);
    CHECK(contains(h.stop_reason, "no better validation_loss than "));
    CHECK(
        contains(h.stop_reason, glia::text("of epoch ", best.epoch, " for ", patience, " epoch")));
    CHECK_FALSE(h.interrupted);
    const auto& expected = restore_best ? kernels[best.epoch - 1] : kernels.back();
    CHECK((o.net.get("dense_0.kernel") == expected));
    CHECK((kernels[best.epoch - 1] != kernels.back()));
  };
  run(1, true);
  run(4, true);
  run(4, false);
}

TEST_CASE("early stopping says when a score was no number at all") {
  observed o;
  const xt::xarray<float> broken = xt::ones<float>({4, 2}) * std::nanf("");
  const glia::labeled_arrays validation(broken, xt::xarray<std::int32_t>{0, 1, 2, 3});
  const auto h = o.trainer.fit(
      test::quadrants{20}, validation,
      {.epochs = 5, .progress = nullptr, .callbacks = {glia::early_stopping{.patience = 2}}});
  CHECK(h.stop_reason == "validation_loss was not finite for 2 epochs");
}

TEST_CASE("a rate that is lowered is noted") {
  observed o;
  const auto h =
      o.trainer.fit(test::quadrants{20}, {.epochs = 3,
                                          .progress = nullptr,
                                          .callbacks = {glia::reduce_lr_on_plateau{
                                              .monitor = "loss", .patience = 1, .min_delta = 9}}});
  REQUIRE(h.notes.size() == 2);
  CHECK(h.notes[0] == "learning rate 0.1 lowered to 0.01 after epoch 2");
}

TEST_CASE("the best epoch is the first of the best scores, and no number is never better") {
  glia::history h;
  const double nan = std::nan("");
  with_losses(h, {nan, 0.5, 0.4, 0.39, nan, 0.4, 0.39});
  const auto best = glia::detail::best_of(h, "validation_loss");
  CHECK(best.epoch == 4);
  CHECK(best.epochs_since == 3);
  CHECK(glia::detail::best_of(h, "validation_loss", 0.05).epoch == 3);
  h.epochs.resize(1);
  CHECK(glia::detail::best_of(h, "validation_loss").epoch == 0);
  CHECK(glia::detail::best_of(h, "validation_loss").epochs_since == 1);
  h.metrics = {glia::accuracy(), glia::mae()};
  CHECK_FALSE(glia::smaller_is_better(h.metrics, "validation_accuracy"));
  CHECK(glia::smaller_is_better(h.metrics, "mae"));
  CHECK(contains(message_of<glia::value_error>([&] { (void)glia::detail::best_of(h, "f1_score"); }),
                 "there is no score 'f1_score'; the scores are: loss, validation_loss, accuracy"));
  h.epochs[0].validation.reset();
  CHECK(contains(
      message_of<glia::value_error>([&] { (void)glia::detail::best_of(h, "validation_loss"); }),
      "fit has no validation data"));
}

TEST_CASE("the rate falls after the patience, and not again before the cooldown is over") {
  using list = std::vector<double>;
  CHECK(scales({.factor = 0.5, .patience = 2}, {1, 1, 1, 1, 1, 1}) ==
        list{1, 1, 0.5, 0.5, 0.25, 0.25});
  CHECK(scales({.factor = 0.5, .patience = 2}, {1, 1, 0.5, 1, 1, 1}) == list{1, 1, 1, 1, 0.5, 0.5});
  CHECK(scales({.factor = 0.5, .patience = 1, .cooldown = 2}, {1, 1, 1, 1, 1}) ==
        list{1, 0.5, 0.5, 0.25, 0.25});  // as Keras's: the second epoch of the cooldown counts
  CHECK(scales({.factor = 0.5, .patience = 2, .cooldown = 3}, {1, 1, 1, 1, 1, 1, 1, 1}) ==
        list{1, 1, 0.5, 0.5, 0.5, 0.5, 0.25, 0.25});
  CHECK(scales({.factor = 0.5, .patience = 1, .cooldown = 1}, {1, 1, 1}) == list{1, 0.5, 0.25});
  CHECK(scales({.factor = 0.5, .patience = 1, .min_delta = 0.1}, {1, 0.95, 0.8}) ==
        list{1, 0.5, 0.5});
  // From 0.1 to no less than 0.04.
  CHECK(test::distance(scales({.factor = 0.5, .patience = 1, .min_lr = 0.04}, {1, 1, 1, 1}),
                       list{1, 0.5, 0.4, 0.4}) < 1e-12);
}

TEST_CASE("a scaled rate is that of every optimizer, and others cannot be scaled") {
  const auto same = [](auto scaled, auto plain) {
    observed dummy;
    const auto take = [&](auto rule, double factor) {
      glia::model net{glia::dense{3}, {2}};
      glia::trainer trainer{net, glia::softmax_cross_entropy{}, rule};
      const auto scale = glia::on_event(event::train_begin, [&](const glia::training& t) {
        if (factor != 1) {
          t.scale_learning_rate(factor);
        }
      });
      const glia::labeled_arrays data(xt::xarray<float>{{1, 2}, {-1, 0.5}},
                                      xt::xarray<std::int32_t>{0, 2});
      const auto h = trainer.fit(data, {.epochs = 3, .progress = nullptr, .callbacks = {scale}});
      CHECK(h.epochs.back().learning_rate == 0.25);
      return trainer.state().tensors;
    };
    CHECK(take(scaled, 0.5) == take(plain, 1));
  };
  same(glia::sgd{.learning_rate = 0.5, .momentum = 0.9, .weight_decay = 0.1},
       glia::sgd{.learning_rate = 0.25, .momentum = 0.9, .weight_decay = 0.1});
  same(glia::adam{.learning_rate = 0.5}, glia::adam{.learning_rate = 0.25});
  same(glia::adamw{.learning_rate = 0.5, .weight_decay = 0.1},
       glia::adamw{.learning_rate = 0.25, .weight_decay = 0.1});
  same(glia::rmsprop{.learning_rate = 0.5}, glia::rmsprop{.learning_rate = 0.25});
  same(glia::adagrad{.learning_rate = 0.5}, glia::adagrad{.learning_rate = 0.25});

  struct plain_sgd : glia::sgd {
    std::array<double, 1> numbers(std::size_t step) const { return sgd::numbers(step); }
  };
  glia::model net{glia::dense{4}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, plain_sgd{}};
  const auto fit = [&](double factor) {
    trainer.fit(test::quadrants{5},
                {.progress = nullptr,
                 .callbacks = {[=](const glia::training& t) { t.scale_learning_rate(factor); }}});
  };
  fit(1);
  CHECK(contains(message_of<glia::value_error>([&] { fit(0.5); }), "numbers(step, scale)"));
  CHECK(contains(message_of<glia::value_error>([&] { fit(0); }), "positive, finite factor"));
  CHECK(trainer.state().learning_rate_scale == 1);
}

TEST_CASE("the log holds the epochs so far after each of them") {
  const test::temporary_folder folder;
  observed o;
  std::vector<std::size_t> lines;
  const auto count = glia::on_event(event::epoch_end, [&](const glia::training&) {
    const std::string log = test::file_content(folder.path() / "log.csv");
    lines.push_back(static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n')));
  });
  o.trainer.fit(test::quadrants{10},
                {.epochs = 3,
                 .progress = nullptr,
                 .callbacks = {glia::csv_logger{folder.path() / "log.csv"}, count}});
  CHECK(lines == std::vector<std::size_t>{2, 3, 4});
  CHECK_THROWS_AS(
      o.trainer.fit(test::quadrants{10},
                    {.progress = nullptr, .callbacks = {glia::csv_logger{"/nowhere/log.csv"}}}),
      glia::data_error);
}

TEST_CASE("a number that is not finite is traced to its layer, and the model stays as it was") {
  const auto run = [](const auto& network, const auto& data, double rate, std::size_t interval) {
    glia::model net{network, {2}};
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{rate}};
    const auto h = trainer.fit(data, {.epochs = 40,
                                      .batch_size = 4,
                                      .shuffle = false,
                                      .progress = nullptr,
                                      .callbacks = {glia::terminate_on_nan(interval)}});
    for (const glia::named_tensor& t : trainer.state().tensors) {
      CHECK(glia::detail::all_finite(t));
    }
    return std::pair{h.stop_reason, trainer.step_count()};
  };
  const xt::xarray<float> y = xt::ones<float>({12, 1});
  const glia::lambda overflows{"overflows",
                               [](auto&, auto v) { return glia::ops::exp(v * 100.0F); }};
  const glia::sequential network{glia::dense{3}, glia::named{"middle", overflows}, glia::dense{1}};
  // Only the last of three batches overflows.
  xt::xarray<float> x = xt::ones<float>({12, 2});
  for (std::size_t i = 0; i < 16; ++i) {
    x.data()[i] = 0.001F;
  }
  const auto forward = run(network, glia::target_arrays(x, y), 1e-9, 50);
  CHECK(forward.first ==
        "the loss is not finite: step 3 of epoch 1, first in middle, forward (unary)");
  CHECK(forward.second == 2);

  // The gradients explode step by step, and the loss with them.
  const auto diverges =
      run(glia::dense{1}, glia::target_arrays(xt::ones<float>({12, 2}), y), 1e6, 4);
  CHECK(contains(diverges.first, " is not finite: step "));
  CHECK(contains(diverges.first, "first in "));

  xt::xarray<float> broken = xt::ones<float>({12, 2});
  broken(9, 1) = std::nanf("");
  CHECK(run(glia::dense{1}, glia::target_arrays(broken, y), 0.1, 50).first ==
        "the loss is not finite: step 3 of epoch 1, first in the inputs of the batch");

  // The history has the epochs up to there, and nothing of the one that could not begin.
  broken.fill(std::nanf(""));
  std::ostringstream out;
  glia::model net{glia::dense{1}, {2}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{0.1}};
  const auto h =
      trainer.fit(glia::target_arrays(broken, y),
                  {.epochs = 2, .progress = &out, .callbacks = {glia::terminate_on_nan(50)}});
  CHECK(h.epochs.empty());
  CHECK(out.str() ==
        "stopped after epoch 0: the loss is not finite: step 1 of epoch 1, first in the inputs of "
        "the batch\n");
}

TEST_CASE("a parameter that an update ruins is found though the loss is still finite") {
  glia::model net{glia::dense{1}, {2}};
  // At step 6 the update is larger than a float.
  glia::trainer trainer{
      net, glia::mean_squared_error{},
      glia::sgd{glia::schedule("jumps", [](std::size_t step) { return step == 5 ? 3e38 : 1e-3; })}};
  const auto h =
      trainer.fit(glia::target_arrays(xt::ones<float>({12, 2}), 1000.0F * xt::ones<float>({12, 1})),
                  {.epochs = 3,
                   .batch_size = 2,
                   .progress = nullptr,
                   .callbacks = {glia::terminate_on_nan(50)}});
  CHECK(h.stop_reason ==
        "a parameter is not finite: step 6 of epoch 1, first in dense_0, update (sgd)");
  CHECK(trainer.step_count() == 5);
}
