#include "catch.hpp"
#include "helpers.hpp"

using test::message_of;

namespace {

const xt::xarray<float> inputs = xt::ones<float>({3, 2});

template <class Label>
std::string refusal(const std::vector<Label>& labels) {
  xt::xarray<Label> array(typename xt::xarray<Label>::shape_type{labels.size()});
  std::copy(labels.begin(), labels.end(), array.begin());
  return message_of<glia::data_error>([&] { glia::labeled_arrays data(inputs, array); });
}

const std::string instead =
    "; expected a class index, a whole number from 0 to 2147483647; for real-valued targets, use "
    "target_arrays";

}  // namespace

TEST_CASE("labels of any type of numbers are classes where they are whole") {
  const glia::labeled_arrays floats(inputs, xt::xarray<float>{2, 0, 1});
  CHECK(floats.label(0) == 2);
  CHECK(floats.label(2) == 1);
  const glia::labeled_arrays doubles(inputs, xt::xarray<double>{0, 1, 70000});
  CHECK(doubles.label(2) == 70000);
  const glia::labeled_arrays bytes(inputs, xt::xarray<std::uint8_t>{0, 200, 1});
  CHECK(bytes.label(1) == 200);
  const glia::labeled_arrays bools(inputs, xt::xarray<bool>{true, false, true});
  CHECK(bools.label(0) == 1);
  const glia::labeled_arrays listed(inputs, {0, 1, 2});
  CHECK(listed.label(2) == 2);
}

TEST_CASE("labels that are no classes are refused, with the sample and the value") {
  CHECK(refusal<float>({0, 1, 0.7F}) == "labeled_arrays: sample 2 has the label 0.7" + instead);
  CHECK(refusal<double>({0, -1, 0}) == "labeled_arrays: sample 1 has the label -1" + instead);
  CHECK(refusal<std::int32_t>({-3, 1, 0}) == "labeled_arrays: sample 0 has the label -3" + instead);
  CHECK(refusal<float>({0, NAN, 0}) == "labeled_arrays: sample 1 has the label nan" + instead);
  CHECK(refusal<float>({0, 1, INFINITY}) == "labeled_arrays: sample 2 has the label inf" + instead);
  CHECK(refusal<double>({0, 3e9, 0}) == "labeled_arrays: sample 1 has the label 3e+09" + instead);
  CHECK(refusal<std::int64_t>({0, 1LL << 40, 0}) ==
        "labeled_arrays: sample 1 has the label 1.09951e+12" + instead);
}

TEST_CASE("labels may be one column; other shapes are named") {
  const glia::labeled_arrays column(inputs, xt::xarray<float>(xt::ones<float>({3, 1})));
  CHECK(column.size() == 3);
  CHECK(column.label(2) == 1);
  CHECK(message_of<glia::shape_error>([] {
          glia::labeled_arrays data(inputs, xt::xarray<float>(xt::ones<float>({3, 4})));
        }) ==
        "labeled_arrays: expected inputs (N, ...) and labels (N) or (N, 1), got (3, 2) and (3, 4); "
        "for rows of scores or probabilities, use target_arrays");
  CHECK(message_of<glia::shape_error>([] {
          glia::labeled_arrays data(inputs, xt::xarray<std::int32_t>{0, 1});
        }) ==
        "labeled_arrays: expected inputs (N, ...) and labels (N) or (N, 1), got (3, 2) and (2,)");
  CHECK(message_of<glia::shape_error>([] {
          glia::target_arrays data(inputs, xt::xarray<float>{0, 1});
        }) == "target_arrays: expected inputs (N, ...) and targets (N, ...), got (3, 2) and (2,)");
}
