#include <atomic>
#include <glia/backends/cpu.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

struct throwing_layer {
  static inline std::atomic<bool> is_enabled = false;
  static constexpr std::string_view type_name = "throwing";
  static constexpr bool treats_samples_alone(glia::run_mode) { return true; }
  [[nodiscard]] glia::variable operator()(glia::scope&, glia::variable x) const {
    glia::require<glia::data_error>(!is_enabled, "thrown by a layer");
    return x;
  }
  [[nodiscard]] static std::string description() { return "throwing"; }
};

}  // namespace

TEST_CASE("what failed in all lanes does not fail again in the next calls") {
  const glia::model net{
      glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 3}, throwing_layer{},
                       glia::conv2d{.filters = 4, .kernel_size = 3}},
      {8, 8, 1}};
  const std::vector<float> x(64 * 64, 0.5F);
  std::vector<float> y(64 * net.output_shape().size());
  throwing_layer::is_enabled = true;
  CHECK_THROWS_AS(net.predict_batch(x, y), glia::data_error);
  throwing_layer::is_enabled = false;
  for (int call = 0; call < 30; ++call) {
    CHECK_NOTHROW(net.predict_batch(x, y));
  }
}
