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

void put(std::ofstream& to, std::uint32_t number) {
  to.write(reinterpret_cast<const char*>(&number), sizeof number);
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
      for (const std::size_t one : graph.sample) {
        put(models, static_cast<std::uint32_t>(one));
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
  found all;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bytes = 0;
    results.read(reinterpret_cast<char*>(&bytes), sizeof bytes);
    REQUIRE(results.good());
    std::vector<float> right(bytes == ~std::uint32_t{0} ? 0 : bytes / sizeof(float));
    results.read(reinterpret_cast<char*>(right.data()),
                 static_cast<std::streamsize>(right.size() * sizeof(float)));
    float largest = 1;
    for (const float one : right) {
      largest = std::isfinite(one) ? std::max(largest, std::abs(one)) : 1e30F;
    }
    if (right.empty() || largest > 1e6F) {
      ++all.unknown;
      continue;
    }
    test::random::onnx_graph graph(first + i);
    std::string what = glia::text("seed ", first + i, ":");
    for (const std::string& one : graph.operations) {
      what += ' ' + one;
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
      double off = y.size() == right.size() ? 0 : 1e30;
      for (std::size_t k = 0; k < std::min(y.size(), right.size()); ++k) {
        const double here = std::abs(double{y.data()[k]} - double{right[k]});
        off = here <= off ? off : std::isnan(here) ? 1e30 : here;
      }
      if (off > 1e-4 * largest) {
        all.different.push_back(glia::text(what, ": ", off, " of ", largest));
      } else {
        ++all.same;
      }
    } catch (const glia::data_error& e) {
      ++all.refused;
      std::cerr << what << ": refused: " << e.what() << '\n';
    } catch (const std::exception& e) {
      all.different.push_back(glia::text(what, ": ", e.what()));
    }
  }
  return all;
}

}  // namespace

TEST_CASE("random ONNX graphs give what ONNX Runtime gives", "[onnx-graphs]") {
  const auto python = test::python_with("onnxruntime");
  if (!python) {
    GLIA_SKIP(test::no_python_with("onnxruntime"));
  }
  const auto [first, count] = test::random::seeds(1500);
  constexpr std::uint64_t at_once = 1000;
  found all;
  for (std::uint64_t done = 0; done < count; done += at_once) {
    const found some = compare(*python, first + done, std::min(at_once, count - done));
    for (const std::string& one : some.different) {
      FAIL_CHECK(one);
    }
    all.same += some.same;
    all.refused += some.refused;
    all.unknown += some.unknown;
    all.different.insert(all.different.end(), some.different.begin(), some.different.end());
  }
  std::cerr << all.same << " graphs the same, " << all.different.size() << " different, "
            << all.refused << " refused, " << all.unknown << " without numbers\n";
  CHECK(all.refused == 0);
  CHECK(all.unknown <= 1 + count / 100);
}
