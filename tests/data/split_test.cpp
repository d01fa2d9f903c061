#include <glia/data/split.hpp>
#include <set>

#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;

namespace {

using sample_numbers = std::vector<std::uint32_t>;

/// Sample i is the number i, of the class that `classes` has for it.
struct counted_samples {
  std::vector<std::int32_t> classes;

  [[nodiscard]] std::size_t size() const { return classes.size(); }
  [[nodiscard]] static glia::shape input_shape() { return {1}; }
  static void input(std::size_t i, std::span<float> values) { values[0] = static_cast<float>(i); }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return classes[i]; }
};

/// The same with values: sample i should come to 10 i and 10 i + 1.
struct valued_samples {
  std::size_t count;

  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] static glia::shape input_shape() { return {1}; }
  static void input(std::size_t i, std::span<float> values) { values[0] = static_cast<float>(i); }
  [[nodiscard]] static glia::shape target_shape() { return {2}; }
  static void target(std::size_t i, std::span<float> values) {
    values[0] = static_cast<float>(10 * i);
    values[1] = values[0] + 1;
  }
};

/// Samples that are written in batches, and 1000 higher in every epoch.
struct varying_samples : counted_samples {
  static constexpr bool behind_frozen_layers = true;

  void inputs(std::span<const std::uint32_t> samples, std::span<float> values) const {
    inputs(samples, values, 0);
  }
  void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
              std::size_t epoch) const {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      values[n] = static_cast<float>(samples[n] + 1000 * epoch);
    }
  }
  [[nodiscard]] static bool varies() { return true; }
};

/// Samples whose inputs and targets are 1000 higher in every epoch.
struct varying_pairs : valued_samples {
  static void inputs(std::span<const std::uint32_t> samples, std::span<float> values,
                     std::size_t epoch = 0) {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      values[n] = static_cast<float>(samples[n] + 1000 * epoch);
    }
  }
  static void targets(std::span<const std::uint32_t> samples, std::span<float> values,
                      std::size_t epoch) {
    for (std::size_t n = 0; n < samples.size(); ++n) {
      values[2 * n] = static_cast<float>(10 * samples[n] + 1000 * epoch);
      values[2 * n + 1] = values[2 * n] + 1;
    }
  }
  static bool varies() { return true; }
};

template <class D>
concept outlived_by_its_parts = requires(D&& data) {
  glia::train_test_split(std::forward<D>(data));
  glia::k_fold(std::forward<D>(data), 2);
};
static_assert(outlived_by_its_parts<const counted_samples&>);
static_assert(!outlived_by_its_parts<counted_samples>);

counted_samples alike(std::size_t count) { return {std::vector<std::int32_t>(count)}; }

/// So many samples of class 0, then of class 1, and so on.
counted_samples sorted_classes(const std::vector<std::size_t>& counts) {
  counted_samples data;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    data.classes.insert(data.classes.end(), counts[k], static_cast<std::int32_t>(k));
  }
  return data;
}

template <class D>
std::vector<std::size_t> counts_of(const D& data, std::size_t classes) {
  std::vector<std::size_t> counts(classes);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ++counts[static_cast<std::size_t>(data.label(i))];
  }
  return counts;
}

sample_numbers all_numbers(std::size_t count) {
  sample_numbers samples(count);
  for (std::size_t i = 0; i < count; ++i) {
    samples[i] = static_cast<std::uint32_t>(i);
  }
  return samples;
}

/// The samples of both parts together, in order.
template <class D>
sample_numbers united(const glia::train_and_test<D>& parts) {
  sample_numbers both = parts.train.samples();
  both.insert(both.end(), parts.test.samples().begin(), parts.test.samples().end());
  std::sort(both.begin(), both.end());
  return both;
}

template <class D>
glia::batch gathered(const D& data, const sample_numbers& samples, std::size_t epoch = 0) {
  glia::batch result;
  glia::dataset_view(data).gather(samples, result, epoch);
  return result;
}

}  // namespace

TEST_CASE("a subset can do what its data set can") {
  using labeled = glia::subset<counted_samples>;
  using valued = glia::subset<valued_samples>;
  using varying = glia::subset<varying_samples>;
  static_assert(glia::labeled_dataset<labeled> && !glia::target_dataset<labeled>);
  static_assert(!glia::batched_dataset<labeled> && !labeled::behind_frozen_layers);
  static_assert(glia::target_dataset<valued> && !glia::labeled_dataset<valued>);
  static_assert(glia::varying_dataset<varying> && varying::behind_frozen_layers);
  static_assert(!std::is_constructible_v<labeled, counted_samples, sample_numbers>);

  const counted_samples counted{{5, 6, 7, 8}};
  const labeled chosen(counted, {3, 0, 3});
  CHECK(chosen.size() == 3);
  const glia::batch of_classes = gathered(chosen, {0, 1, 2, 1});
  CHECK(of_classes.inputs == std::vector<float>{3, 0, 3, 0});
  CHECK(of_classes.labels == std::vector<std::int32_t>{8, 5, 8, 5});

  const valued_samples values{5};
  const glia::batch of_values = gathered(valued(values, {4, 2}), {1, 0});
  CHECK(of_values.inputs == std::vector<float>{2, 4});
  CHECK(of_values.target_shape == glia::shape{2, 2});
  CHECK(of_values.targets == std::vector<float>{20, 21, 40, 41});

  const varying_samples moving{{{0, 1, 2}}};
  const varying two(moving, {2, 1});
  const glia::dataset_view view(two);
  CHECK(view.varies());
  CHECK(view.behind_frozen_layers());
  CHECK(gathered(two, {1, 0}).inputs == std::vector<float>{1, 2});
  CHECK(gathered(two, {1, 0}, 3).inputs == std::vector<float>{3001, 3002});
  std::vector<float> first(1);
  two.inputs(sample_numbers{0}, first);
  CHECK(first[0] == 2);

  const varying_pairs pairs{{3}};
  const glia::subset<varying_pairs> two_pairs(pairs, {2, 1});
  static_assert(glia::varying_target_dataset<glia::subset<varying_pairs>>);
  static_assert(!glia::varying_target_dataset<varying>);
  CHECK(gathered(two_pairs, {1, 0}).targets == std::vector<float>{10, 11, 20, 21});
  CHECK(gathered(two_pairs, {1, 0}, 3).targets == std::vector<float>{3010, 3011, 3020, 3021});
  CHECK(gathered(two_pairs, {}, 3).targets.empty());
  const glia::weighted_samples weighted(pairs, xt::xarray<float>{1, 2, 3});
  CHECK(gathered(weighted, {2}, 3).targets == std::vector<float>{3020, 3021});
  CHECK(gathered(weighted, {2}, 3).weights == std::vector<float>{3});

  const glia::subset nested(chosen, {1});
  CHECK(gathered(nested, {0}).labels == std::vector<std::int32_t>{5});
}

TEST_CASE("numbers beyond the data set are refused") {
  const counted_samples data = alike(5);
  CHECK(message_of<glia::value_error>([&] {
          (void)glia::subset(data, {0, 4, 5, 7});
        }) == "subset: expected indices below 5, the number of samples of the data set, got 5");
}

TEST_CASE("a split has the share that was asked for, and every sample once") {
  const counted_samples data = alike(10);
  const auto [train, test] = glia::train_test_split(data, {.test_size = 0.3, .shuffle = false});
  CHECK(train.samples() == sample_numbers{0, 1, 2, 3, 4, 5, 6});
  CHECK(test.samples() == sample_numbers{7, 8, 9});

  // 0.29 * 100 is 28.999... in double, 0.07 * 100 is 7.000...1.
  const counted_samples hundred = alike(100);
  for (const auto& [share, expected] : {std::pair(0.29, 29), {0.07, 7}, {0.5, 50}}) {
    const auto parts = glia::train_test_split(hundred, {.test_size = share});
    CHECK(parts.test.size() == static_cast<std::size_t>(expected));
    CHECK(united(parts) == all_numbers(100));
  }
}

TEST_CASE("a split of a split knows the samples of the original data set") {
  const counted_samples data = alike(20);
  const auto [rest, test] = glia::train_test_split(data, {.test_size = 0.25});
  const auto [train, validation] = glia::train_test_split(rest, {.test_size = 0.2, .seed = 2});
  CHECK(train.size() == 12);
  CHECK(validation.size() == 3);
  sample_numbers samples = train.samples();
  for (const sample_numbers& part : {validation.samples(), test.samples()}) {
    samples.insert(samples.end(), part.begin(), part.end());
  }
  std::sort(samples.begin(), samples.end());
  CHECK(samples == all_numbers(20));
  // The input of a sample is its index in `data`.
  for (std::size_t i = 0; i < validation.size(); ++i) {
    float input = 0;
    validation.input(i, {&input, 1});
    CHECK(static_cast<std::uint32_t>(input) == validation.samples()[i]);
  }
  const glia::subset deepest(validation, {2, 0});
  CHECK(deepest.samples() == sample_numbers{validation.samples()[2], validation.samples()[0]});
}

TEST_CASE("a split is shuffled, by its seed alone") {
  const counted_samples data = alike(1000);
  const auto test_of = [&](std::uint64_t seed) {
    const auto parts = glia::train_test_split(data, {.seed = seed});
    CHECK(std::is_sorted(parts.train.samples().begin(), parts.train.samples().end()));
    CHECK(std::is_sorted(parts.test.samples().begin(), parts.test.samples().end()));
    return parts.test.samples();
  };
  CHECK(test_of(1) == test_of(1));
  CHECK(test_of(1) != test_of(2));
  // About a fifth of the held-out fifth comes from each fifth: 40, with a deviation of 5.7; six
  // times that are allowed.
  const sample_numbers test = test_of(3);
  for (std::uint32_t fifth = 0; fifth < 5; ++fifth) {
    const auto in_fifth =
        std::count_if(test.begin(), test.end(), [&](std::uint32_t i) { return i / 200 == fifth; });
    CHECK(in_fifth > 40 - 34);
    CHECK(in_fifth < 40 + 34);
  }
}

TEST_CASE("a stratified split keeps the shares of the classes") {
  const counted_samples data = sorted_classes({50, 30, 20});
  const auto parts = glia::train_test_split(data, {.stratify = true});
  CHECK(counts_of(parts.test, 3) == std::vector<std::size_t>{10, 6, 4});
  CHECK(united(parts) == all_numbers(100));

  // A third of 7, 7 and 4 is 2.33, 2.33 and 1.33; of 6 in all, the one that is left goes to the
  // first.
  const counted_samples uneven = sorted_classes({7, 7, 4});
  const auto thirds =
      glia::train_test_split(uneven, {.test_size = 1.0 / 3, .shuffle = false, .stratify = true});
  CHECK(counts_of(thirds.test, 3) == std::vector<std::size_t>{3, 2, 1});
  CHECK(thirds.test.samples() == sample_numbers{4, 5, 6, 12, 13, 17});
  // 0.3 of 1, 5 and 4 is 0.3, 1.5 and 1.2: the one that is left of 3 goes to the second.
  const counted_samples small = sorted_classes({1, 5, 4});
  CHECK(counts_of(glia::train_test_split(small, {.test_size = 0.3, .stratify = true}).test, 3) ==
        std::vector<std::size_t>{0, 2, 1});

  // Without it, the last samples are all of the last class.
  CHECK(counts_of(glia::train_test_split(data, {.shuffle = false}).test, 3) ==
        std::vector<std::size_t>{0, 0, 20});

  const auto test_of = [&](std::uint64_t seed) {
    return glia::train_test_split(data, {.seed = seed, .stratify = true}).test.samples();
  };
  CHECK(test_of(1) == test_of(1));
  CHECK(test_of(1) != test_of(2));

  const valued_samples values{10};
  CHECK(glia::train_test_split(values).test.size() == 2);
  CHECK(message_of<glia::value_error>(
            [&] { (void)glia::train_test_split(values, {.stratify = true}); }) ==
        "train_test_split: stratify needs class labels, but this data set has target values; set "
        "stratify to false");
}

TEST_CASE("every sample is in the test part of one fold") {
  const counted_samples data = alike(11);
  for (const bool shuffled : {false, true}) {
    for (std::size_t k = 2; k <= 11; ++k) {
      const auto folds = glia::k_fold(data, k, {.shuffle = shuffled});
      CHECK(folds.size() == k);
      std::multiset<std::uint32_t> tested;
      for (const auto& parts : folds) {
        CHECK(united(parts) == all_numbers(11));
        CHECK(parts.test.size() >= 11 / k);
        CHECK(parts.test.size() <= 11 / k + 1);
        tested.insert(parts.test.samples().begin(), parts.test.samples().end());
      }
      CHECK(sample_numbers(tested.begin(), tested.end()) == all_numbers(11));
    }
  }
  CHECK(glia::k_fold(data, 2, {.shuffle = false})[0].test.samples() ==
        sample_numbers{0, 1, 2, 3, 4});
  const auto first_of = [&](std::uint64_t seed) {
    return glia::k_fold(data, 2, {.seed = seed})[0].test.samples();
  };
  CHECK(first_of(1) == first_of(1));
  CHECK(first_of(1) != first_of(2));
}

TEST_CASE("splits that cannot be are refused") {
  const auto split_error = [](std::size_t size, double share) {
    return message_of<glia::value_error>([&] {
      const counted_samples data = alike(size);
      (void)glia::train_test_split(data, {.test_size = share});
    });
  };
  CHECK(split_error(0, 0.2) == "train_test_split: the data set is empty");
  CHECK(split_error(5, 0) == "train_test_split: expected a test_size between 0 and 1, got 0");
  CHECK(split_error(5, 1) == "train_test_split: expected a test_size between 0 and 1, got 1");
  CHECK(split_error(5, NAN) == "train_test_split: expected a test_size between 0 and 1, got nan");
  CHECK(split_error(5, 0.05) ==
        "train_test_split: a test_size of 0.05 of 5 samples leaves no sample for testing");
  CHECK(split_error(5, 0.95) ==
        "train_test_split: a test_size of 0.95 of 5 samples leaves no sample for training");
  CHECK(split_error(2, 0.5).empty());
  const auto fold_error = [](std::size_t size, std::size_t k) {
    return message_of<glia::value_error>([&] {
      const counted_samples data = alike(size);
      (void)glia::k_fold(data, k);
    });
  };
  CHECK(fold_error(0, 2) == "k_fold: the data set is empty");
  CHECK(fold_error(5, 1) == "k_fold: expected k from 2 to 5, the number of samples, got 1");
  CHECK(fold_error(5, 6) == "k_fold: expected k from 2 to 5, the number of samples, got 6");
  CHECK(fold_error(5, 5).empty());
  const valued_samples values{10};
  CHECK(message_of<glia::value_error>([&] { (void)glia::k_fold(values, 2, {.stratify = true}); }) ==
        "k_fold: stratify needs class labels, but this data set has target values; set stratify to "
        "false");
}

TEST_CASE("a model trains on one part and is evaluated on the other") {
  const test::quadrants data{250};
  const auto [train, test] = glia::train_test_split(data, {.test_size = 0.2, .stratify = true});
  glia::model net{glia::sequential{glia::dense{16, glia::tanh}, glia::dense{4}}, {2}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}};
  const auto history =
      trainer.fit(train, test, {.epochs = 30, .batch_size = 20, .progress = nullptr});
  CHECK(history.epochs.back().samples == 200);
  CHECK(history.validation("accuracy").back() > 0.9);
}
