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
  xt::xarray<float> all = xt::zeros<float>(extents);
  std::copy(numbers.begin(), numbers.end(), all.data());
  return all;
}

}  // namespace detail

/// Calls f(case) for each case of a file.
inline void for_each_operator_case(const std::filesystem::path& path,
                                   const std::function<void(const operator_case&)>& f) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) {
    throw glia::data_error(path.string() + ": cannot be read");
  }
  const auto blob = [&](std::string& to) {
    std::uint32_t size = 0;
    if (gzread(file.get(), &size, sizeof size) != static_cast<int>(sizeof size)) {
      return false;
    }
    to.resize(size);
    return gzread(file.get(), to.data(), size) == static_cast<int>(size);
  };
  operator_case one;
  std::string model;
  std::string x;
  std::string y;
  while (blob(one.name) && blob(model) && blob(x) && blob(y)) {
    one.model.ParseFromString(model);
    one.x = detail::array_of(x);
    one.y = detail::array_of(y);
    f(one);
  }
}

struct operator_outcome {
  enum class kind { passed, refused, failed };
  kind how = kind::failed;
  std::string why;
};

/// Predicts, and compares to 1e-5 relative and 1e-6 absolute.
inline operator_outcome outcome_of(const operator_case& one, const std::filesystem::path& scratch) {
  using kind = operator_outcome::kind;
  try {
    write_message(one.model, scratch);
    const glia::model net{glia::onnx_model{scratch}};
    const xt::xarray<float> y = net.predict(one.x);
    if (!std::equal(y.shape().begin(), y.shape().end(), one.y.shape().begin(),
                    one.y.shape().end())) {
      return {kind::failed, glia::text("another shape, of ", y.size(), " and not of ", one.y.size(),
                                       " elements")};
    }
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double got = y.data()[i];
      const double right = one.y.data()[i];
      const bool same = std::isnan(right) ? std::isnan(got)
                        : std::isinf(right)
                            ? got == right
                            : std::abs(got - right) <= 1e-6 + 1e-5 * std::abs(right);
      if (!same) {
        return {kind::failed, glia::text("element ", i, " is ", got, ", expected ", right)};
      }
    }
    return {kind::passed, ""};
  } catch (const glia::data_error& e) {
    const std::string why = e.what();
    const std::string place = scratch.string() + ": ";
    return {kind::refused, why.starts_with(place) ? why.substr(place.size()) : why};
  } catch (const std::exception& e) {
    return {kind::failed, e.what()};
  }
}

}  // namespace test
