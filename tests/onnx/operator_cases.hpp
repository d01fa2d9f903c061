#pragma once

#include <zlib.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <glia/glia.hpp>
#include <glia/onnx.hpp>
#include <memory>
#include <string>
#include <vector>

#include "onnx/models.hpp"
#include "temporary_folder.hpp"

// Models of one operator each, with an input and what they must give, as
// tests/python/make_operator_cases.py writes them.
namespace test {

struct operator_case {
  std::string name;  ///< operator/opset/variant/form
  ::onnx::ModelProto model;
  xt::xarray<float> x;
  xt::xarray<float> y;

  [[nodiscard]] std::string operation() const { return name.substr(0, name.find('/')); }
};

namespace detail {

inline xt::xarray<float> array_of(const std::string& bytes) {
  ::onnx::TensorProto message;
  message.ParseFromString(bytes);
  const std::vector<float> numbers = glia::onnx::floats_of(glia::onnx::tensor_data{&message});
  std::vector<std::size_t> extents(message.dims().begin(), message.dims().end());
  xt::xarray<float> values = xt::zeros<float>(extents);
  std::copy(numbers.begin(), numbers.end(), values.data());
  return values;
}

}  // namespace detail

/// Calls f(case) for each case of a file.
inline void for_each_operator_case(const std::filesystem::path& path,
                                   const std::function<void(const operator_case&)>& f) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.string().c_str(), "rb"),
                                                        gzclose);
  if (file == nullptr) {
    throw glia::data_error(path.string() + ": cannot be read");
  }
  const auto blob = [&](std::string& content) {
    std::uint32_t size = 0;
    if (gzread(file.get(), &size, sizeof size) != static_cast<int>(sizeof size)) {
      return false;
    }
    content.resize(size);
    return gzread(file.get(), content.data(), size) == static_cast<int>(size);
  };
  operator_case test_case;
  std::string model;
  std::string x;
  std::string y;
  while (blob(test_case.name) && blob(model) && blob(x) && blob(y)) {
    test_case.model.ParseFromString(model);
    test_case.x = detail::array_of(x);
    test_case.y = detail::array_of(y);
    f(test_case);
  }
}

struct operator_outcome {
  enum class kind { passed, refused, failed };
  kind status = kind::failed;
  std::string reason;
};

/// Predicts, and compares to 1e-5 relative and 1e-6 absolute.
inline operator_outcome outcome_of(const operator_case& test_case,
                                   const std::filesystem::path& scratch) {
  using kind = operator_outcome::kind;
  try {
    write_message(test_case.model, scratch);
    const glia::model net{glia::onnx_model{scratch}};
    const xt::xarray<float> y = net.predict(test_case.x);
    if (!std::equal(y.shape().begin(), y.shape().end(), test_case.y.shape().begin(),
                    test_case.y.shape().end())) {
      return {kind::failed, glia::text("another shape, of ", y.size(), " and not of ",
                                       test_case.y.size(), " elements")};
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double actual = y.data()[i];
      const double expected = test_case.y.data()[i];
      const bool same = std::isnan(expected) ? std::isnan(actual)
                        : std::isinf(expected)
                            ? actual == expected
                            : std::abs(actual - expected) <= 1e-6 + 1e-5 * std::abs(expected);
      if (!same) {
        return {kind::failed, glia::text("element ", i, " is ", actual, ", expected ", expected)};
      }
    }
    return {kind::passed, ""};
  } catch (const glia::data_error& e) {
    const std::string reason = e.what();
    const std::string place = scratch.string() + ": ";
    return {kind::refused, reason.starts_with(place) ? reason.substr(place.size()) : reason};
  } catch (const std::exception& e) {
    return {kind::failed, e.what()};
  }
}

}  // namespace test
