#include "glia/distributed/distribution.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "helpers.hpp"
#include "thread_ranks.hpp"

namespace {

struct shared_run {
  std::size_t ranks = 1;
  glia::distributed_options how = {};
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
      glia::conv2d{.filters = 6, .kernel = 3, .padding = glia::same, .activation = glia::relu},
      glia::max_pool2d{},
      glia::flatten{},
      glia::dense{4}};
}

struct outcome {
  std::vector<float> parameters;
  glia::history history;
};

/// Trains on every rank, requires that all come to the same, and gives that.
template <class Network>
outcome train_shared(const Network& network, const shared_run& run) {
  std::vector<outcome> all(run.ranks);
  test::thread_ranks group(run.ranks, run.shares_memory);
  group.run([&](glia::rank_group& own) {
    glia::model net{network, {2}, glia::cpu<float>({.threads = run.threads}), {.seed = 3}};
    const std::shared_ptr<glia::rank_group> ranks(&own, [](glia::rank_group*) {});
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{},
                          glia::adam{},
                          {.seed = 3, .over = {.ranks = ranks, .how = run.how}}};
    auto& mine = all[own.rank()];
    mine.history = trainer.fit(test::quadrants{run.samples}, test::quadrants{90},
                               {.epochs = run.epochs,
                                .batch_size = run.batch_size,
                                .metrics = std::vector{glia::accuracy(), glia::top_k(2)},
                                .progress = nullptr});
    mine.parameters = test::parameters_of(net);
  });
  for (const outcome& one : all) {
    CHECK(one.parameters == all[0].parameters);
    CHECK(one.history.training("loss") == all[0].history.training("loss"));
    CHECK(one.history.validation("accuracy") == all[0].history.validation("accuracy"));
  }
  return all[0];
}

template <class Network>
outcome train_alone(const Network& network, const shared_run& run) {
  glia::model net{network, {2}, glia::cpu<float>({.threads = run.threads}), {.seed = 3}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{}, {.seed = 3}};
  outcome result;
  result.history = trainer.fit(test::quadrants{run.samples}, test::quadrants{90},
                               {.epochs = run.epochs,
                                .batch_size = run.batch_size,
                                .metrics = std::vector{glia::accuracy(), glia::top_k(2)},
                                .progress = nullptr});
  result.parameters = test::parameters_of(net);
  return result;
}

}  // namespace

TEST_CASE("ranks that train together end with the same weights, near those of one") {
  const auto network =
      glia::sequential{glia::dense{64, glia::relu}, glia::dropout{0.3}, glia::dense{4}};
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
  const shared_run run{.how = {.reproducible = true, .bucket_bytes = 4096}};
  const outcome one = train_shared(small_network(), run);
  for (const std::size_t ranks : {2U, 3U, 4U, 8U}) {
    shared_run more = run;
    more.ranks = ranks;
    more.shares_memory = ranks != 3;
    const outcome shared = train_shared(small_network(), more);
    CHECK(shared.parameters == one.parameters);
    CHECK(shared.history.training("loss") == one.history.training("loss"));
    CHECK(shared.history.training("accuracy") == one.history.training("accuracy"));
    CHECK(shared.history.validation("loss") == one.history.validation("loss"));
    CHECK(shared.history.validation("top_2") == one.history.validation("top_2"));
  }
}
