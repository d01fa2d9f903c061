#include "glia/distributed.hpp"

#include <cmath>
#include <glia/training/terminate_on_nan.hpp>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "thread_ranks.hpp"

namespace {

struct shared_run {
  std::size_t ranks = 1;
  glia::distributed_options options = {};
  std::size_t threads = 1;
  std::size_t epochs = 2;
  std::size_t batch_size = 60;
  bool shares_memory = false;
  std::size_t samples = 250;  // the last batch is short, and uneven
};

auto small_network() {
  return glia::sequential{
      glia::dense{100, glia::relu},
      glia::batch_norm{},
      glia::dropout{0.3},
      glia::reshape{{5, 5, 4}},
      glia::conv2d{.filters = 6, .kernel_size = 3, .padding = glia::same, .activation = glia::relu},
      glia::max_pool2d{},
      glia::flatten{},
      glia::dense{4}};
}

auto small_network_without_dropout() {
  return glia::sequential{
      glia::dense{100, glia::relu},
      glia::batch_norm{},
      glia::reshape{{5, 5, 4}},
      glia::conv2d{.filters = 6, .kernel_size = 3, .padding = glia::same, .activation = glia::relu},
      glia::batch_norm{},
      glia::flatten{},
      glia::dense{4}};
}

auto small_network_with_joint_normalization() {
  return glia::sequential{
      glia::dense{100, glia::relu},
      glia::sync_batch_norm{},
      glia::reshape{{5, 5, 4}},
      glia::conv2d{.filters = 6, .kernel_size = 3, .padding = glia::same, .activation = glia::relu},
      glia::sync_batch_norm{},
      glia::flatten{},
      glia::dense{4}};
}

auto small_network_without_normalization() {
  return glia::sequential{glia::dense{64, glia::relu}, glia::dropout{0.3}, glia::dense{4}};
}

/// Points, and what is to be foretold of them: values.
struct points {
  std::size_t count;

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] static glia::shape input_shape() { return {2}; }
  [[nodiscard]] static glia::shape target_shape() { return {2}; }
  static void input(std::size_t i, std::span<float> values) { test::quadrants::input(i, values); }
  static void target(std::size_t i, std::span<float> values) {
    input(i, values);
    std::swap(values[0], values[1]);
  }
};

struct outcome {
  std::vector<float> parameters;
  glia::history history;
};

/// Trains on every rank, requires that all come to the same, and gives that.
template <class Network>
outcome train_shared(const Network& network, const shared_run& run) {
  std::vector<outcome> outcomes(run.ranks);
  test::thread_ranks group(run.ranks, run.shares_memory);
  group.run([&](glia::rank_group& member) {
    glia::model net{network, {2}, glia::cpu<float>({.threads = run.threads}), {.seed = 3}};
    const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::adam{},
                          {.seed = 3, .distribution = {.ranks = ranks, .options = run.options}}};
    auto& result = outcomes[member.rank()];
    result.history = trainer.fit(test::quadrants{run.samples}, test::quadrants{90},
                                 {.epochs = run.epochs,
                                  .batch_size = run.batch_size,
                                  .metrics = std::vector{glia::accuracy(), glia::top_k_accuracy(2)},
                                  .progress = nullptr});
    result.parameters = test::parameters_of(net);
  });
  for (const outcome& result : outcomes) {
    CHECK(result.parameters == outcomes[0].parameters);
    CHECK(result.history.training("loss") == outcomes[0].history.training("loss"));
    CHECK(result.history.validation("accuracy") == outcomes[0].history.validation("accuracy"));
  }
  return outcomes[0];
}

template <class Network>
outcome train_alone(const Network& network, const shared_run& run) {
  glia::model net{network, {2}, glia::cpu<float>({.threads = run.threads}), {.seed = 3}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}, {.seed = 3}};
  outcome result;
  result.history = trainer.fit(test::quadrants{run.samples}, test::quadrants{90},
                               {.epochs = run.epochs,
                                .batch_size = run.batch_size,
                                .metrics = std::vector{glia::accuracy(), glia::top_k_accuracy(2)},
                                .progress = nullptr});
  result.parameters = test::parameters_of(net);
  return result;
}

}  // namespace

TEST_CASE("ranks that train together end with the same weights, near those of one") {
  const auto network = small_network_without_normalization();
  const outcome alone = train_alone(network, {});
  for (const std::size_t ranks : {1U, 2U, 3U}) {
    const outcome shared = train_shared(network, {.ranks = ranks});
    CHECK(test::distance(shared.parameters, alone.parameters) < 1e-4);
    CHECK(std::abs(shared.history.training("loss").back() - alone.history.training("loss").back()) <
          1e-5);
    CHECK(std::abs(shared.history.validation("loss").back() -
                   alone.history.validation("loss").back()) < 1e-4);
    CHECK(shared.parameters == train_shared(network, {.ranks = ranks, .threads = 2}).parameters);
  }
}

TEST_CASE("reproducible training gives the same bits for 1, 2, 3, 4 and 8 ranks") {
  const shared_run run{.options = {.reproducible = true, .bucket_bytes = 4096}};
  const outcome expected = train_shared(small_network(), run);
  for (const std::size_t ranks : {2U, 3U, 4U, 8U}) {
    shared_run variant = run;
    variant.ranks = ranks;
    variant.shares_memory = ranks != 3;
    const outcome shared = train_shared(small_network(), variant);
    CHECK(shared.parameters == expected.parameters);
    CHECK(shared.history.training("loss") == expected.history.training("loss"));
    CHECK(shared.history.training("accuracy") == expected.history.training("accuracy"));
    CHECK(shared.history.validation("loss") == expected.history.validation("loss"));
    CHECK(shared.history.validation("top_2_accuracy") ==
          expected.history.validation("top_2_accuracy"));
  }
}

TEST_CASE("a number that is not finite is told of by the rank that has it") {
  struct damaged_points : test::quadrants {
    static void input(std::size_t i, std::span<float> values) {
      test::quadrants::input(i, values);
      values[0] = i == 17 ? std::numeric_limits<float>::infinity() : values[0];
    }
  };
  std::vector<std::string> reasons(3);
  test::thread_ranks group(reasons.size());
  group.run([&](glia::rank_group& member) {
    glia::model net{glia::dense{4}, {2}, glia::cpu<float>({.threads = 1}), {.seed = 3}};
    const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::adam{},
                          {.seed = 3, .distribution = {.ranks = ranks}}};
    reasons[member.rank()] =
        trainer
            .fit(damaged_points{{.count = 40}}, {.batch_size = 10,
                                                 .shuffle = false,
                                                 .progress = nullptr,
                                                 .callbacks = {glia::terminate_on_nan()}})
            .stop_reason;
  });
  for (const std::string& reason : reasons) {  // samples 16 to 19 of the second batch are rank 2's
    CHECK(reason.find("step 2 of epoch 1, first in the inputs of the batch, on rank 2") !=
          std::string::npos);
  }
}

TEST_CASE("ranks without samples of a batch take the same step") {
  const shared_run alone{.samples = 61};  // the last batch is one sample
  for (const bool reproducible : {false, true}) {
    shared_run run = alone;
    run.options.reproducible = reproducible;
    const outcome expected = reproducible ? train_shared(small_network_without_normalization(), run)
                                          : train_alone(small_network_without_normalization(), run);
    for (const std::size_t ranks : {2U, 3U}) {
      run.ranks = ranks;
      const outcome shared = train_shared(small_network_without_normalization(), run);
      CHECK(test::distance(shared.parameters, expected.parameters) < (reproducible ? 1e-30 : 1e-4));
      CHECK(std::abs(shared.history.training("loss").back() -
                     expected.history.training("loss").back()) < (reproducible ? 1e-30 : 1e-5));
      CHECK(shared.history.training("top_2_accuracy") ==
            expected.history.training("top_2_accuracy"));
    }
  }
}

TEST_CASE("ranks without samples of a batch of values take the same step") {
  const auto train = [](glia::rank_group* group) {
    glia::model net{glia::sequential{glia::dense{8, glia::tanh}, glia::dense{2}},
                    {2},
                    glia::cpu<float>({.threads = 1}),
                    {.seed = 3}};
    const std::shared_ptr<glia::rank_group> ranks(group, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::mean_squared_error{},
                          glia::adam{},
                          {.seed = 3, .distribution = {.ranks = ranks}}};
    trainer.fit(points{21}, points{5}, {.epochs = 2, .batch_size = 10, .progress = nullptr});
    return test::parameters_of(net);
  };
  const std::vector<float> alone = train(nullptr);
  std::vector<std::vector<float>> parameters(3);
  test::thread_ranks group(parameters.size());
  group.run([&](glia::rank_group& member) { parameters[member.rank()] = train(&member); });
  for (const std::vector<float>& values : parameters) {
    CHECK(values == parameters[0]);
    CHECK(test::distance(values, alone) < 1e-5);
  }
}

TEST_CASE("synchronized batch normalization trains as one process does") {
  const outcome alone = train_alone(small_network_without_dropout(), {});
  const outcome local = train_shared(small_network_without_dropout(), {.ranks = 3});
  CHECK(test::distance(local.parameters, alone.parameters) > 1e-3);
  for (const std::size_t ranks : {2U, 3U}) {
    const outcome shared = train_shared(small_network_with_joint_normalization(), {.ranks = ranks});
    CHECK(test::distance(shared.parameters, alone.parameters) < 2e-4);
    CHECK(std::abs(shared.history.validation("loss").back() -
                   alone.history.validation("loss").back()) < 1e-4);
  }
}

namespace {

/// The gradients of one batch of 37 samples, as what a step of gradient descent at a rate of 1
/// takes away.
template <class Network>
std::vector<float> gradients_of(const Network& network, std::size_t ranks,
                                const glia::distributed_options& options, bool shared = true,
                                bool shares_memory = false) {
  std::vector<float> result;
  test::thread_ranks group(ranks, shares_memory);
  group.run([&](glia::rank_group& member) {
    glia::model net{network, {2}, glia::cpu<float>({.threads = 1}), {.seed = 3}};
    const std::vector<float> initial = test::parameters_of(net);
    const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::sgd{1.0},
                          {.seed = 3,
                           .distribution = shared ? glia::distribution{shared_ranks, options}
                                                  : glia::distribution{}}};
    trainer.fit(test::quadrants{37}, {.batch_size = 37, .progress = nullptr});
    if (member.rank() == 0) {
      result = test::parameters_of(net);
      for (std::size_t i = 0; i < result.size(); ++i) {
        result[i] -= initial[i];
      }
    }
  });
  return result;
}

}  // namespace

TEST_CASE("gradients of all modes are those of one process") {
  const auto network =
      glia::sequential{glia::dense{48, glia::relu}, glia::dropout{0.3}, glia::dense{4}};
  const std::vector<float> alone = gradients_of(network, 1, {}, false);
  for (const std::size_t ranks : {1U, 2U, 3U, 4U}) {
    for (const bool shares_memory : {false, true}) {
      CHECK(test::distance(gradients_of(network, ranks, {}, true, shares_memory), alone) < 1e-6);
      CHECK(test::distance(
                gradients_of(network, ranks, {.reproducible = true}, true, shares_memory), alone) <
            1e-6);
    }
    // Each rank's part is rounded to 8 bits, and their sum once more.
    CHECK(test::distance(gradients_of(network, ranks, {.bfloat16_gradients = true}), alone) < 4e-3);
  }
  const std::vector<float> normalized = gradients_of(small_network_without_dropout(), 1, {}, false);
  CHECK(test::distance(gradients_of(small_network_with_joint_normalization(), 3, {}), normalized) <
        1e-6);
  CHECK(test::distance(gradients_of(small_network_with_joint_normalization(), 1, {}, false),
                       normalized) < 1e-6);
}

TEST_CASE("sums in bfloat16 leave running statistics and scores as they are") {
  const outcome exact = train_shared(small_network_without_dropout(), {.ranks = 2, .epochs = 1});
  const outcome rounded =
      train_shared(small_network_without_dropout(),
                   {.ranks = 2, .options = {.bfloat16_gradients = true}, .epochs = 1});
  CHECK(rounded.parameters != exact.parameters);
  // Steps of gradient descent at a rate of 0: only the statistics change, by 1 % of little.
  const auto still = [](bool bfloat16) {
    std::vector<float> result;
    test::thread_ranks group(2);
    group.run([&](glia::rank_group& member) {
      glia::model net{small_network_without_dropout(), {2}, glia::cpu<float>({.threads = 1})};
      const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
      glia::trainer trainer{net,
                            glia::softmax_cross_entropy{},
                            glia::sgd{0.0},
                            {.distribution = {shared_ranks, {.bfloat16_gradients = bfloat16}}}};
      const auto history =
          trainer.fit(test::quadrants{250}, {.batch_size = 10, .progress = nullptr});
      if (member.rank() == 0) {
        result = test::parameters_of(net);
        result.push_back(static_cast<float>(history.training("loss").back()));
      }
    });
    return result;
  };
  CHECK(still(true) == still(false));
}

TEST_CASE("a rank whose step or evaluation throws ends those of all others") {
  for (const bool evaluates : {false, true}) {
    std::vector<std::string> messages(3);
    test::thread_ranks group(3);
    group.run([&](glia::rank_group& member) {
      glia::model net{glia::dense{4}, {2}, glia::cpu<float>({.threads = 1})};
      const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
      glia::trainer trainer{net,
                            glia::softmax_cross_entropy{},
                            glia::sgd{0.1},
                            {.distribution = {.ranks = shared_ranks}}};
      glia::metric faulty{.name = "faulty"};
      faulty.update_state = [&](std::span<const float>, const glia::sample_target&,
                                std::span<double>) {
        glia::require<glia::data_error>(member.rank() != 1, "faulty: no");
      };
      for (int step = 0; step < 3; ++step) {  // who goes on all the same does not get far
        try {
          if (evaluates) {
            (void)glia::evaluate(net, test::quadrants{30}, glia::softmax_cross_entropy{},
                                 {.metrics = std::vector{faulty}, .ranks = &member});
          } else {
            glia::batch b;
            const std::vector<std::uint32_t> samples{member.rank() == 0 ? 0U : 1U};
            glia::dataset_view(test::quadrants{30}).gather(samples, b);
            b.first = member.rank();
            b.whole = 3;
            b.labels[0] = member.rank() == 1 ? 99 : 0;
            trainer.step(b);
          }
        } catch (const glia::error& e) {
          messages[member.rank()] = e.what();
        }
      }
    });
    for (const std::string& message : messages) {
      CHECK(test::contains(message,
                           evaluates ? "rank 1 on thread: faulty: no" : "rank 1 on thread: "));
    }
  }
}

TEST_CASE("metrics that look at outputs are those of the whole batch, in its order") {
  const auto scores_of = [](std::size_t ranks) {
    std::vector<glia::scores> result;
    test::thread_ranks group(ranks);
    group.run([&](glia::rank_group& member) {
      glia::model net{glia::dense{4}, {2}, glia::cpu<float>({.threads = 1}), {.seed = 3}};
      const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
      glia::trainer trainer{net,
                            glia::softmax_cross_entropy{},
                            glia::sgd{0.1},
                            {.distribution = {shared_ranks, {.reproducible = true}}}};
      glia::metric first_output{.name = "first_output"};
      first_output.update_state = [](std::span<const float> y, const glia::sample_target&,
                                     std::span<double> sums) {
        sums[0] += static_cast<double>(y[0]) * 1e3;
      };
      const auto history = trainer.fit(test::quadrants{70}, test::quadrants{33},
                                       {.epochs = 2,
                                        .batch_size = 30,
                                        .metrics = std::vector{first_output},
                                        .progress = nullptr});
      if (member.rank() == ranks - 1) {
        result = {history.epochs[1].training, *history.epochs[1].validation};
      }
    });
    return result;
  };
  CHECK(scores_of(3) == scores_of(1));
  CHECK(scores_of(5) == scores_of(1));
}

TEST_CASE("what is frozen is run by each rank for some samples, and is the same for all") {
  const auto network = glia::sequential{glia::frozen{glia::dense{20, glia::relu}}, glia::dense{4}};
  const outcome alone = train_alone(network, {});
  const outcome shared = train_shared(network, {.ranks = 3});
  CHECK(shared.history.frozen_layers == alone.history.frozen_layers);
  CHECK(test::distance(shared.parameters, alone.parameters) < 1e-5);
}

TEST_CASE("ranks that do not train alike are told what differs") {
  test::thread_ranks group(3);
  const auto training = [&] {
    group.run([&](glia::rank_group& member) {
      glia::model net{glia::dense{4}, {2}};
      const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
      glia::trainer trainer{
          net, glia::softmax_cross_entropy{}, glia::sgd{0.1}, {.distribution = {shared_ranks}}};
      trainer.fit(test::quadrants{member.rank() == 1 ? 60U : 61U},
                  {.batch_size = 30, .progress = nullptr});
    });
  };
  CHECK(test::contains(test::message_of<glia::rank_error>(training),
                       "rank 1 on thread and rank 0 on thread have different settings: 'training "
                       "samples: 60 of (2,) with classes' and 'training samples: 61"));
}

TEST_CASE("what cannot be shared is refused") {
  const auto trainer_of = [](glia::distribution distribution) {
    glia::model net{glia::dense{4}, {2}};
    const glia::trainer trainer{net,
                                glia::softmax_cross_entropy{},
                                glia::sgd{0.1},
                                {.distribution = std::move(distribution)}};
  };
  const auto lone = std::make_shared<glia::lone_rank>();
  CHECK_NOTHROW(trainer_of({lone, {.reproducible = true}}));
  CHECK_THROWS_AS(trainer_of({lone, {.reproducible = true, .bfloat16_gradients = true}}),
                  glia::value_error);
  CHECK_THROWS_AS(trainer_of({lone, {.reproducible = true, .pieces = 0}}), glia::value_error);
  CHECK_THROWS_AS(trainer_of({lone, {.reproducible = true, .bucket_bytes = 0}}), glia::value_error);
  CHECK(test::contains(test::message_of<glia::value_error>([&] {
                         trainer_of({nullptr, {.reproducible = true}});
                       }),
                       "set .ranks = std::make_shared<glia::lone_rank>()"));
}

TEST_CASE("batches that cannot be normalized over all ranks are refused") {
  const auto message = [](std::size_t ranks, std::size_t samples,
                          const glia::distributed_options& options) {
    return test::message_of<glia::value_error>([&] {
      test::thread_ranks(ranks).run([&](glia::rank_group& member) {
        glia::model net{glia::sequential{glia::sync_batch_norm{}, glia::dense{4}}, {2}};
        const std::shared_ptr<glia::rank_group> shared_ranks(&member, [](glia::rank_group*) {});
        glia::trainer trainer{net,
                              glia::softmax_cross_entropy{},
                              glia::sgd{0.1},
                              {.distribution = {.ranks = shared_ranks, .options = options}}};
        trainer.fit(test::quadrants{samples}, {.batch_size = 8, .progress = nullptr});
      });
    });
  };
  CHECK(message(3, 16, {}).empty());
  CHECK(test::contains(message(3, 10, {}),
                       "expected at least 3 samples in a batch, one for each rank, got 2"));
  CHECK(test::contains(message(2, 16, {.reproducible = true}),
                       "reproducible and sync_batch_norm cannot be combined"));
}

TEST_CASE("parameter groups and the losses of steps are the same on several ranks") {
  const auto network = glia::sequential{glia::dense{8, glia::tanh}, glia::dense{6}, glia::dense{4}};
  const glia::trainer_options options{
      .parameter_groups = {
          {.path = "dense_0", .frozen = true},
          {.path = "*.kernel", .rate_factor = 0.5, .weight_decay = 1, .l1 = 0.01}}};
  const auto train = [&](const glia::distribution& distribution) {
    glia::model net{network, {2}, glia::cpu<double>(), {.seed = 3}};
    const std::vector<double> initial = test::parameters_of<double>(net);
    glia::trainer_options distributed = options;
    distributed.distribution = distribution;
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.01}, distributed};
    std::vector<double> results;
    const auto record = glia::on_event(glia::event::train_batch_end, [&](const glia::training& t) {
      results.push_back(t.step_loss());
    });
    (void)trainer.fit(test::quadrants{50},
                      {.epochs = 2, .batch_size = 20, .progress = nullptr, .callbacks = {record}});
    const std::vector<double> parameters = test::parameters_of<double>(net);
    const bool is_frozen =
        std::equal(parameters.begin(), parameters.begin() + 2 * 8 + 8, initial.begin());
    results.push_back(is_frozen ? 1 : 0);
    results.insert(results.end(), parameters.begin(), parameters.end());
    return results;
  };
  const std::vector<double> alone = train({});
  constexpr std::size_t steps = 2 * 3;
  CHECK(alone.at(steps) == 1);
  std::vector<std::vector<double>> shared(2);
  test::thread_ranks(2).run([&](glia::rank_group& member) {
    const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
    shared[member.rank()] = train({.ranks = ranks});
  });
  for (const std::vector<double>& results : shared) {
    CHECK(test::distance(results, alone) < 1e-10);
  }
}

TEST_CASE("ranks with other parameter groups are refused") {
  std::vector<std::string> messages(2);
  test::thread_ranks(2).run([&](glia::rank_group& member) {
    glia::model net{glia::dense{4}, {2}};
    const std::shared_ptr<glia::rank_group> ranks(&member, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::sgd{},
                          {.parameter_groups = {{.l2 = 0.1 * static_cast<double>(member.rank())}},
                           .distribution = {.ranks = ranks}}};
    messages[member.rank()] = test::message_of<glia::error>(
        [&] { (void)trainer.fit(test::quadrants{50}, {.progress = nullptr}); });
  });
  for (const std::string& message : messages) {
    CHECK(test::contains(message, "parameter groups"));
  }
}
