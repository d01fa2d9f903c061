#include <glia/distributed.hpp>
#include <glia/glia.hpp>
#include <xtensor/xview.hpp>

#include "catch.hpp"
#include "distributed/thread_ranks.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

// What counts, and what does not: see glia::counted_targets.

namespace {

/// Sequences of `steps` steps with a class for each, or none; of every third sample, for none.
struct sequences {
  explicit sequences(std::size_t steps_, bool with_empty_)
      : steps(steps_), with_empty(with_empty_) {}

  std::size_t steps;
  bool with_empty;

  [[nodiscard]] static bool is_empty(std::size_t sample) { return sample % 3 == 1; }
  [[nodiscard]] std::vector<std::size_t> samples() const {
    std::vector<std::size_t> numbers;
    for (std::size_t sample = 0; sample < 14; ++sample) {
      if (with_empty || !is_empty(sample)) {
        numbers.push_back(sample);
      }
    }
    return numbers;
  }
  [[nodiscard]] glia::target_arrays data() const {
    const auto numbers = samples();
    xt::xarray<float> x = xt::zeros<float>({numbers.size(), steps, std::size_t{2}});
    xt::xarray<float> t = xt::zeros<float>({numbers.size(), steps});
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      const std::size_t sample = numbers[n];
      glia::random_stream random({.seed = sample});
      for (std::size_t step = 0; step < steps; ++step) {
        x(n, step, 0) = static_cast<float>(random.normal());
        x(n, step, 1) = static_cast<float>(random.normal());
        const bool counts = !is_empty(sample) && (step == 0 || step % (1 + sample % 4) != 0);
        t(n, step) = counts ? static_cast<float>(random.integer(3)) : -1;
      }
    }
    return {x, t};
  }
};

const auto steps_to_classes = glia::time_distributed{glia::dense{3}};

struct result {
  std::vector<double> parameters;
  glia::history history;
  glia::scores evaluated;
};

const glia::metric how_many{.name = "how_many",
                            .update_state = [](auto, const auto&, auto sums) { sums[0] += 1; },
                            .result = [](auto sums, double) { return sums[0]; }};
const glia::metric mean_class{
    .name = "mean_class",
    .update_state = [](auto, const auto& t, auto sums) { sums[0] += t.values[0]; }};
const glia::metric collected{
    .name = "collected",
    .per_sample = true,
    .update_state = [](auto, const auto& t, auto sums) { sums[0] = t.values[0]; },
    .result = [](auto sums,
                 double samples) { return static_cast<double>(sums.size()) / samples + sums[0]; }};

template <class Loss, class B>
result train(const glia::target_arrays& data, const Loss& loss, const B& device,
             std::size_t batch_size, const std::shared_ptr<glia::rank_group>& ranks = nullptr) {
  glia::model net{steps_to_classes, data.input_shape(), device, {.seed = 3}};
  glia::trainer trainer{net, loss, glia::sgd{0.5}, {.seed = 3, .distribution = {.ranks = ranks}}};
  result r;
  r.history = trainer.fit(
      data, data,
      {.epochs = 3,
       .batch_size = batch_size,
       .shuffle = false,
       .metrics = {glia::accuracy(), glia::top_k_accuracy(2), how_many, mean_class, collected},
       .progress = nullptr});
  for (const auto value : test::parameters_of(net)) {
    r.parameters.push_back(static_cast<double>(value));
  }
  r.evaluated = glia::evaluate(net, data, loss,
                               {.batch_size = 2,
                                .metrics = {glia::accuracy(), how_many, mean_class, collected},
                                .ranks = ranks.get()});
  return r;
}

void require_same(const result& a, const result& b) {
  CHECK(test::distance(a.parameters, b.parameters) < 1e-6);
  for (const char* score :
       {"loss", "accuracy", "top_2_accuracy", "how_many", "mean_class", "collected"}) {
    INFO(score);
    CHECK(test::distance(a.history.training(score), b.history.training(score)) < 1e-6);
    CHECK(test::distance(a.history.validation(score), b.history.validation(score)) < 1e-6);
  }
  CHECK(std::abs(a.evaluated.loss - b.evaluated.loss) < 1e-6);
  CHECK(test::distance(a.evaluated.metric_values, b.evaluated.metric_values) < 1e-6);
}

}  // namespace

TEST_CASE("samples without a class are like samples that are not there") {
  for (const std::size_t steps : {std::size_t{1}, std::size_t{5}}) {
    INFO(steps << " steps");
    const auto full = sequences(steps, true).data();
    const auto filtered = sequences(steps, false).data();
    REQUIRE(full.size() > filtered.size());
    const auto check = [&](const auto& loss, const auto& device) {
      const result expected = train(filtered, loss, device, filtered.size());
      require_same(train(full, loss, device, full.size()), expected);
      CHECK(expected.history.training("how_many").back() == static_cast<double>(filtered.size()));
    };
    check(glia::softmax_cross_entropy{}, glia::cpu<float>({.threads = 2}));
    check(glia::softmax_cross_entropy{.label_smoothing = 0.1, .class_weight = {1, 2, 0.5F}},
          glia::cpu<float>());
    check(glia::softmax_cross_entropy{}, glia::cpu<double>());
    check(glia::softmax_cross_entropy{}, glia::reference<double>());
  }
}

TEST_CASE("ranks divide by the samples that count on all of them") {
  const auto data = sequences(5, true).data();
  const glia::cpu<float> device({.threads = 1});
  for (const std::size_t batch_size : {std::size_t{14}, std::size_t{4}}) {
    const result alone = train(data, glia::softmax_cross_entropy{}, device, batch_size);
    for (const std::size_t count : {2U, 3U, 5U}) {
      INFO(count << " ranks");
      std::vector<result> results(count);
      test::thread_ranks group(count);
      group.run([&](glia::rank_group& member) {
        const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
        results[member.rank()] =
            train(data, glia::softmax_cross_entropy{}, device, batch_size, ranks);
      });
      for (const result& outcome : results) {
        require_same(outcome, alone);
      }
    }
  }
}

TEST_CASE("a batch in which nothing counts changes nothing") {
  const xt::xarray<float> x = xt::ones<float>({4, 3, 2});
  const glia::target_arrays data{x, -xt::ones<float>({4, 3})};
  glia::model net{steps_to_classes, {3, 2}};
  const auto initial = test::parameters_of(net);
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{0.5}};
  const auto h = trainer.fit(
      data, data, {.epochs = 2, .metrics = {glia::accuracy(), collected}, .progress = nullptr});
  CHECK(test::parameters_of(net) == initial);
  CHECK(h.training("loss") == std::vector<double>{0, 0});
  CHECK(h.validation("accuracy") == std::vector<double>{0, 0});
  CHECK(h.training("collected") == std::vector<double>{0, 0});
}

TEST_CASE("of several outputs each is measured of the samples that have a class for it") {
  const auto description = glia::sequential{
      glia::dense{4, glia::tanh},
      glia::outputs{glia::output{"words", glia::sequential{glia::dense{6}, glia::reshape{{2, 3}}}},
                    glia::output{"tags", glia::sequential{glia::dense{2}, glia::reshape{{1, 2}}}},
                    glia::output{"unused", glia::dense{1}}}};
  const glia::output_losses losses{glia::output_loss{"words", glia::softmax_cross_entropy{}},
                                   glia::output_loss{"tags", glia::softmax_cross_entropy{}}};
  // Of the last sample nothing is known, of the first two one output each.
  const xt::xarray<float> x{{1, 2}, {-1, 1}, {0.5F, 2}, {3, 1}, {7, 7}};
  const xt::xarray<int> words{{1, -1}, {-1, -1}, {0, 2}, {2, 2}, {-1, -1}};
  xt::xarray<int> tags{-1, 1, 0, 1, -1};
  tags.reshape({5, 1});
  const xt::xarray<float> unused = xt::zeros<float>({5, 1});
  const auto first = [&](std::size_t count) {
    const auto rows = [&](const auto& array) {
      return xt::eval(xt::view(array, xt::range(std::size_t{0}, count), xt::all()));
    };
    return glia::named_arrays{{{"x", xt::xarray<float>(rows(x))}},
                              {{"words", xt::xarray<int>(rows(words))},
                               {"tags", xt::xarray<int>(rows(tags))},
                               {"unused", xt::xarray<float>(rows(unused))}}};
  };
  const auto trained = [&](const auto& data) {
    glia::model net{description, {2}, glia::cpu<float>(), {.seed = 3}};
    glia::trainer trainer{net, losses, glia::sgd{0.5}};
    const auto metrics =
        std::vector{glia::for_output("words", glia::accuracy()),
                    glia::for_output("tags", glia::accuracy()), glia::for_output("tags", how_many)};
    auto h = trainer.fit(data, data, {.epochs = 3, .metrics = metrics, .progress = nullptr});
    return std::pair(test::parameters_of(net), std::move(h));
  };
  const auto [parameters, h] = trained(first(5));
  const auto [expected_parameters, expected] = trained(first(4));
  CHECK(test::distance(parameters, expected_parameters) < 1e-6);
  for (const char* score : {"loss", "words_accuracy", "tags_accuracy", "tags_how_many"}) {
    INFO(score);
    CHECK(test::distance(h.training(score), expected.training(score)) < 1e-6);
    CHECK(test::distance(h.validation(score), expected.validation(score)) < 1e-6);
  }
  CHECK(h.training("tags_how_many").back() == 3);
}

TEST_CASE("a batch without the targets that a loss compares is refused, by several ranks as well") {
  const auto part = [](const char* name) {
    return glia::output{name, glia::sequential{glia::dense{6}, glia::reshape{{2, 3}}}};
  };
  const auto description = glia::outputs{part("words"), part("tags")};
  const glia::output_losses losses{glia::output_loss{"words", glia::softmax_cross_entropy{}},
                                   glia::output_loss{"tags", glia::softmax_cross_entropy{}}};
  glia::batch labeled;
  labeled.size = 1;
  labeled.input_shape = {1, 2};
  labeled.inputs = {1, 2};
  labeled.labels = {0};
  glia::batch too_short = labeled;
  too_short.labels.clear();
  too_short.target_shape = {1, 3};
  too_short.targets = {0, 1, 2};
  for (const glia::batch& batch : {labeled, too_short}) {
    const auto step = [&](const std::shared_ptr<glia::rank_group>& ranks) {
      glia::model net{description, {2}, glia::cpu<float>({.threads = 1})};
      glia::trainer trainer{net, losses, glia::sgd{0.5}, {.distribution = {.ranks = ranks}}};
      glia::batch rank_batch = batch;
      rank_batch.first = ranks == nullptr ? 0 : ranks->rank();
      rank_batch.whole = ranks == nullptr ? 1 : ranks->size();
      trainer.step(rank_batch);
    };
    const std::string alone = test::message_of<glia::shape_error>([&] { step(nullptr); });
    CHECK(test::contains(alone, "words"));
    CHECK(test::message_of<glia::shape_error>([&] {
            test::thread_ranks(2).run([&](glia::rank_group& member) {
              step(std::shared_ptr<glia::rank_group>(&member, [](glia::rank_group*) {}));
            });
          }) == alone);
  }
}

TEST_CASE("a loss that is not finite is noted once, and says what helps") {
  const xt::xarray<float> x = xt::ones<float>({4, 2}) * std::nanf("");
  const glia::labeled_arrays data{x, xt::xarray<int>{0, 1, 0, 1}};
  glia::model net{glia::dense{2}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  const auto h = trainer.fit(data, {.epochs = 3, .progress = nullptr});
  REQUIRE(h.notes.size() == 1);
  CHECK(h.notes[0] ==
        "the loss is not finite in epoch 1; add glia::terminate_on_nan() to the callbacks to stop "
        "at that step and to find the layer that computes the number");
}

TEST_CASE("classes given as values are said to be labels") {
  glia::model net{glia::dense{3}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::sgd{}};
  const glia::target_arrays data{xt::zeros<float>({4, 2}), xt::zeros<float>({4, 1})};
  CHECK(test::message_of<glia::shape_error>(
            [&] { (void)trainer.fit(data, {.progress = nullptr}); }) ==
        "fit: the model has outputs of shape (3,) for each sample, but the data set's targets have "
        "shape (1,); pass class labels with labeled_arrays");
}
