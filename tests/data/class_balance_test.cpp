#include <glia/data/class_balance.hpp>
#include <glia/data/split.hpp>

#include "../golden/sklearn_golden.hpp"
#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;

namespace {

/// Sample i is the number i, of the class `labels[i]`.
struct numbered_samples {
  std::vector<std::int32_t> labels;

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] static glia::shape input_shape() { return {1}; }
  static void input(std::size_t i, std::span<float> values) { values[0] = static_cast<float>(i); }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels[i]; }
};

numbered_samples golden_samples() {
  return {{glia_golden::labels.begin(), glia_golden::labels.end()}};
}

/// How often each of the samples with a label occurs in a subset.
template <class D>
std::vector<std::size_t> occurrences(const D& data, const glia::subset<D>& chosen,
                                     std::int32_t label) {
  std::vector<std::size_t> result;
  for (std::uint32_t i = 0; i < data.size(); ++i) {
    if (data.label(i) == label) {
      const auto& samples = chosen.samples();
      result.push_back(static_cast<std::size_t>(std::count(samples.begin(), samples.end(), i)));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("class weights and stratified folds are those of scikit-learn") {
  const numbered_samples data = golden_samples();
  const std::vector<float> weights = glia::balanced_class_weight(data);
  REQUIRE(weights.size() == glia_golden::balanced_class_weight.size());
  for (std::size_t k = 0; k < weights.size(); ++k) {
    CHECK(weights[k] == glia_golden::balanced_class_weight[k]);
  }

  const auto folds = glia::k_fold(data, 4, {.shuffle = false, .stratify = true});
  for (std::size_t f = 0; f < folds.size(); ++f) {
    for (const std::uint32_t sample : folds[f].test.samples()) {
      CHECK(glia_golden::stratified_fold[sample] == static_cast<int>(f));
    }
  }
}

TEST_CASE("stratified folds hold every sample once and each class in equal parts") {
  const numbered_samples data = golden_samples();
  for (const std::size_t k : {2U, 3U, 5U, 7U}) {
    const auto folds = glia::k_fold(data, k, {.seed = 5, .stratify = true});
    std::vector<std::size_t> tested(data.size());
    for (const auto& [train, test] : folds) {
      CHECK(train.size() + test.size() == data.size());
      CHECK(test.size() >= data.size() / k);
      CHECK(test.size() <= data.size() / k + 1);
      for (const std::uint32_t sample : test.samples()) {
        ++tested[sample];
      }
      for (std::int32_t label = 0; label < 4; ++label) {
        const auto in_test =
            std::count_if(test.samples().begin(), test.samples().end(),
                          [&](std::uint32_t sample) { return data.label(sample) == label; });
        const auto total = std::count(data.labels.begin(), data.labels.end(), label);
        CHECK(in_test >= total / static_cast<std::ptrdiff_t>(k));
        CHECK(in_test <= total / static_cast<std::ptrdiff_t>(k) + 1);
      }
    }
    CHECK(tested == std::vector<std::size_t>(data.size(), 1));
  }
  const auto first_fold = [&](std::uint64_t seed) {
    return glia::k_fold(data, 3, {.seed = seed, .stratify = true})[0].test.samples();
  };
  CHECK(first_fold(1) == first_fold(1));
  CHECK(first_fold(1) != first_fold(2));
}

TEST_CASE("classes without samples have weight 0 and do not count") {
  const numbered_samples data{{0, 0, 0, 2}};
  CHECK(glia::balanced_class_weight(data) == std::vector<float>{4.0F / 6, 0, 2});
  CHECK(glia::balanced_class_weight(data, 5) == std::vector<float>{4.0F / 6, 0, 2, 0, 0});
}

TEST_CASE("balanced classes have equally many samples, drawn by the seed alone") {
  const numbered_samples data{{0, 1, 0, 0, 0, 0, 1, 2, 0, 0, 2, 2}};  // 7, 2 and 3 samples
  const auto larger = glia::balance_classes(data);
  CHECK(larger.size() == 21);
  CHECK(std::is_sorted(larger.samples().begin(), larger.samples().end()));
  CHECK(occurrences(data, larger, 0) == std::vector<std::size_t>(7, 1));
  for (const std::int32_t label : {1, 2}) {
    std::size_t total = 0;
    for (const std::size_t count : occurrences(data, larger, label)) {
      CHECK(count >= 7U / (label == 1 ? 2U : 3U));
      CHECK(count <= 7U / (label == 1 ? 2U : 3U) + 1);
      total += count;
    }
    CHECK(total == 7);
  }

  const auto smaller = glia::balance_classes(data, {.samples_per_class = 2});
  CHECK(smaller.size() == 6);
  for (const std::int32_t label : {0, 1, 2}) {
    const auto counts = occurrences(data, smaller, label);
    CHECK(std::count(counts.begin(), counts.end(), 1U) == 2);
    CHECK(*std::max_element(counts.begin(), counts.end()) == 1);
  }

  const auto samples = [&](std::uint64_t seed) {
    return glia::balance_classes(data, {.samples_per_class = 3, .seed = seed}).samples();
  };
  CHECK(samples(1) == samples(1));
  CHECK(samples(1) != samples(2));
}

TEST_CASE("class balance says which data sets it cannot use") {
  const numbered_samples empty;
  CHECK(message_of<glia::value_error>([&] { (void)glia::balanced_class_weight(empty); }) ==
        "balanced_class_weight: the data set is empty");
  CHECK(message_of<glia::value_error>([&] { (void)glia::balance_classes(empty); }) ==
        "balance_classes: the data set is empty");
  const numbered_samples negative{{0, -1}};
  CHECK(message_of<glia::data_error>([&] { (void)glia::balance_classes(negative); }) ==
        "balance_classes: sample 1 has the label -1; expected a class, counted from 0");
  const numbered_samples three{{0, 1, 2}};
  CHECK(message_of<glia::value_error>([&] { (void)glia::balanced_class_weight(three, 2); }) ==
        "balanced_class_weight: expected labels below 2, got 2");
  CHECK(message_of<glia::value_error>([&] { (void)glia::k_fold(three, 2, {.stratify = true}); }) ==
        "k_fold: with stratify, expected k of at most 1, the number of samples of the largest "
        "class, got 2");
}
