#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <glia/glia.hpp>
#include <glia/onnx.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "onnx/models.hpp"
#include "random/onnx_graphs.hpp"
#include "random/seeds.hpp"
#include "run_python.hpp"
#include "temporary_folder.hpp"

// Random graphs against ONNX Runtime.
namespace {

struct found {
  std::size_t same = 0;
  std::size_t refused = 0;  ///< by glia
  std::size_t unknown = 0;  ///< refused by ONNX Runtime, or not finite there
  std::vector<std::string> different;
};

void put(std::ofstream& file, std::uint32_t number) {
  file.write(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Runs the graphs of some seeds in both.
found compare(const std::string& python, std::uint64_t first, std::size_t count) {
  const test::temporary_folder scratch;
  {
    std::ofstream models(scratch.path() / "models", std::ios::binary);
    for (std::size_t i = 0; i < count; ++i) {
      test::random::onnx_graph graph(first + i);
      const std::string model = graph.model.SerializeAsString();
      const std::vector<float> x = graph.input();
      put(models, static_cast<std::uint32_t>(model.size()));
      put(models, static_cast<std::uint32_t>(x.size() * sizeof(float)));
      put(models, static_cast<std::uint32_t>(graph.sample.size() + 1));
      put(models, static_cast<std::uint32_t>(graph.rows));
      for (const std::size_t extent : graph.sample) {
        put(models, static_cast<std::uint32_t>(extent));
      }
      models << model;
      models.write(reinterpret_cast<const char*>(x.data()),
                   static_cast<std::streamsize>(x.size() * sizeof(float)));
    }
  }
  const auto ran = test::run_python(
      python, "run_onnx_bundle.py",
      {(scratch.path() / "models").string(), (scratch.path() / "results").string()});
  INFO(ran.output);
  REQUIRE(ran.status == 0);
  std::ifstream results(scratch.path() / "results", std::ios::binary);
  found result;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bytes = 0;
    results.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
    REQUIRE(results.good());
    std::vector<float> right(bytes == ~std::uint32_t{0} ? 0 : bytes / sizeof(float));
    results.read(reinterpret_cast<char*>(right.data()),
                 static_cast<std::streamsize>(right.size() * sizeof(float)));
    float largest = 1;
    for (const float value : right) {
      largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : 1e30F;
    }
    if (right.empty() || largest > 1e6F) {
      ++result.unknown;
      continue;
    }
    test::random::onnx_graph graph(first + i);
    std::string description = glia::text("seed ", first + i, ":");
    for (const std::string& operation : graph.operations) {
      description += ' ' + operation;
    }
    const std::vector<float> numbers = graph.input();
    std::vector<std::size_t> shape{graph.rows};
    shape.insert(shape.end(), graph.sample.begin(), graph.sample.end());
    xt::xarray<float> x = xt::zeros<float>(shape);
    std::copy(numbers.begin(), numbers.end(), x.data());
    test::write_message(graph.model, scratch.path() / "one.onnx");
    try {
      const glia::model net{glia::onnx_model{scratch.path() / "one.onnx"}};
      const xt::xarray<float> y = net.predict(x);
      double error = y.size() == right.size() ? 0 : 1e30;
      for (std::size_t k = 0; k < std::min(y.size(), right.size()); ++k) {
        const double difference = std::abs(double{y.data()[k]} - double{right[k]});
        error = difference <= error ? error : std::isnan(difference) ? 1e30 : difference;
      }
      if (error > 1e-4 * largest) {
        result.different.push_back(glia::text(description, ": ", error, " of ", largest));
      } else {
        ++result.same;
      }
    } catch (const glia::data_error& e) {
      ++result.refused;
      std::cerr << description << ": refused: " << e.what() << '\n';
    } catch (const std::exception& e) {
      result.different.push_back(glia::text(description, ": ", e.what()));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("random ONNX graphs give what ONNX Runtime gives", "[onnx-graphs]") {
  const auto python = test::python_with("onnxruntime");
  if (!python) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
  }
  const auto [first, count] = test::random::seeds(1500);
  constexpr std::uint64_t at_once = 1000;
  found total;
  for (std::uint64_t done = 0; done < count; done += at_once) {
    const found part = compare(*python, first + done, std::min(at_once, count - done));
    for (const std::string& difference : part.different) {
      FAIL_CHECK(difference);
    }
    total.same += part.same;
    total.refused += part.refused;
    total.unknown += part.unknown;
    total.different.insert(total.different.end(), part.different.begin(), part.different.end());
  }
  std::cerr << total.same << " graphs the same, " << total.different.size() << " different, "
            << total.refused << " refused, " << total.unknown << " without numbers\n";
  CHECK(total.refused == 0);
  CHECK(total.unknown <= 1 + count / 100);
}
