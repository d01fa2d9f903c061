#include <glia/training/confusion.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

// Class 0: 3 right, 1 taken for 2. Class 1: 2 right, 2 taken for 0. Class 2: 1 right.
const xt::xarray<float> nine_outputs{{5, 1, 2}, {3, 0, 1}, {1, 0, 0.5}, {0, 1, 2}, {0, 3, 1},
                                     {1, 4, 2}, {9, 1, 2}, {2, 1, 0},   {0, 1, 7}};
const std::vector<std::int32_t> truth{0, 0, 0, 0, 1, 1, 1, 1, 2};

}  // namespace

TEST_CASE("a confusion matrix counts what was taken for what") {
  const glia::confusion_matrix m(nine_outputs, truth);
  CHECK(m.classes() == 3);
  CHECK(m.total() == 9);
  const std::size_t expected[3][3] = {{3, 0, 1}, {2, 2, 0}, {0, 0, 1}};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      CHECK(m.count(i, j) == expected[i][j]);
    }
  }
  CHECK(m.accuracy() == Approx(6.0 / 9));
  CHECK(m.recall(0) == Approx(0.75));
  CHECK(m.recall(1) == Approx(0.5));
  CHECK(m.recall(2) == Approx(1));
  CHECK(m.precision(0) == Approx(0.6));
  CHECK(m.precision(1) == Approx(1));
  CHECK(m.precision(2) == Approx(0.5));
}

TEST_CASE("classes that nobody is of or is taken for have shares of 0") {
  glia::confusion_matrix m(2);
  CHECK(m.accuracy() == 0);
  m.add(0, 0);
  CHECK(m.recall(1) == 0);
  CHECK(m.precision(1) == 0);
  CHECK(m.accuracy() == 1);
}

TEST_CASE("a confusion matrix as a table") {
  const std::vector<std::string> names{"ox", "elephant", "ape"};
  CHECK(glia::confusion_matrix(nine_outputs, truth).table(names) ==
        R"(true \ predicted        ox  elephant       ape  recall %
ox                       3         0         1      75.0
elephant                 2         2         0      50.0
ape                      0         0         1     100.0
precision %           60.0     100.0      50.0      66.7  accuracy %
)");
}

TEST_CASE("a confusion matrix refuses what does not fit") {
  const std::vector<std::int32_t> labels{0, 1};
  CHECK(test::contains(
      test::message_of<glia::shape_error>([&] { glia::confusion_matrix(nine_outputs, labels); }),
      "expected outputs (2, K) for 2 class labels"));
  std::vector<std::int32_t> beyond = truth;
  beyond[4] = 3;
  CHECK(test::message_of<glia::data_error>([&] { glia::confusion_matrix(nine_outputs, beyond); }) ==
        "confusion_matrix: sample 4 has the class 3, but there are outputs for 3 classes; classes "
        "count from 0");
  beyond[4] = -1;
  CHECK_THROWS_AS(glia::confusion_matrix(nine_outputs, beyond), glia::data_error);
  const std::vector<std::string> two{"ox", "ape"};
  CHECK_THROWS_AS(glia::confusion_matrix(nine_outputs, truth).table(two), glia::value_error);
}

TEST_CASE("a confusion matrix knows its classes, and that what is no number is none") {
  glia::confusion_matrix m(2);
  CHECK(test::message_of<glia::value_error>([&] { m.add(2, 0); }) ==
        "confusion_matrix: expected classes below 2, got 2 and 0");
  CHECK_THROWS_AS(m.add(0, 2), glia::value_error);
  CHECK_THROWS_AS(m.count(5, 5), glia::value_error);
  CHECK_THROWS_AS(m.recall(2), glia::value_error);
  CHECK_THROWS_AS(m.precision(2), glia::value_error);
  CHECK_THROWS_AS(glia::confusion_matrix(std::size_t{1} << 33), glia::value_error);
  const std::vector<std::int32_t> labels{1};
  CHECK(test::message_of<glia::data_error>([&] {
          glia::confusion_matrix(xt::xarray<float>{{NAN, 1}}, labels);
        }) == "confusion_matrix: an output of sample 0 is not a number (NaN)");
}
