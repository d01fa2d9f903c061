#include "catch.hpp"
#include "graph/compared_with_reference.hpp"
#include "tolerances.hpp"

namespace {

using glia::batch_norm;
using glia::relu6;
using glia::sequential;
using test::fusion::compare;
using test::fusion::depthwise;
using test::fusion::pointwise;

}  // namespace

TEST_CASE("branches and users' own layers are fused as sequential is") {
  const glia::lambda block{"block", [](auto& s, auto x) {
                             auto y = s.run(pointwise(12), x, "block", 0);
                             y = s.run(batch_norm{}, y, "block", 1);
                             y = s.run(relu6, y, "block", 2);
                             y = s.run(depthwise(12, 1), y, "block", 3);
                             return s.run(pointwise(2), y, "block", 4) + x;
                           }};
  const auto result = compare(sequential{block, glia::residual{block}}, {8, 9, 2});
  CHECK(result.distance < tolerance::float_kernel);
  CHECK(result.chains == std::vector<std::size_t>{3, 3});
}

TEST_CASE("dense and an activation behind it are what dense with it is") {
  const auto kernels_of = [](const auto& layers) {
    glia::model net{layers, {5}};
    std::vector<std::string> names;
    for (const auto& node : net.prepare({.batch_size = 2}).calls().nodes()) {
      names.emplace_back(node.kernel.name());
    }
    return names;
  };
  const auto fused = kernels_of(sequential{glia::dense{4, glia::relu}, glia::dense{3}});
  CHECK(fused == std::vector<std::string>{"packed_dense", "packed_dense"});
  CHECK(kernels_of(sequential{glia::dense{4}, glia::relu, glia::dense{3}}) == fused);
  CHECK(kernels_of(sequential{glia::dense{4}, batch_norm{}, glia::gelu, glia::dense{3}}) == fused);
}
