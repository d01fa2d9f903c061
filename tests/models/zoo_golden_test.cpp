#include "../golden/zoo_golden.hpp"

#include <glia/models/zoo/inception_v3.hpp>
#include <glia/models/zoo/resnet.hpp>
#include <glia/models/zoo/resnet_v2.hpp>
#include <glia/models/zoo/squeezenet.hpp>
#include <glia/models/zoo/xception.hpp>

#include "catch.hpp"
#include "helpers.hpp"
#include "tolerances.hpp"

namespace {

/// Numbers in [-0.5, 0.5) that depend on a name: those of make_zoo_golden.py.
std::vector<double> numbers_named(const std::string& name, std::size_t count) {
  std::uint32_t offset = 2166136261;
  for (const char character : name) {
    offset = (offset ^ static_cast<unsigned char>(character)) * 16777619;
  }
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) + offset;
    h *= 2654435769U;
    h ^= h >> 15;
    h *= 2246822519U;
    h ^= h >> 13;
    values[i] = (h >> 8) * 0x1p-24 - 0.5;
  }
  return values;
}

std::vector<float> parameter_named(const std::string& name, const glia::shape& s) {
  const bool kernel = name.ends_with("kernel");
  const bool near_one = name.ends_with("gamma") || name.ends_with("variance");
  const std::vector<double> numbers = numbers_named(name, s.size());
  const double scale = kernel     ? std::sqrt(24.0 / (static_cast<double>(s.size() / s.back())))
                       : near_one ? 0.5
                                  : 0.3;
  std::vector<float> values(numbers.size());
  std::transform(numbers.begin(), numbers.end(), values.begin(), [&](double number) {
    return static_cast<float>(number * scale + (near_one ? 1 : 0));
  });
  return values;
}

/// What a network gives for the image, relative to the largest number that it should give.
template <class Golden>
double distance_from(const glia::zoo_network& net, const glia::shape& image, const Golden& golden) {
  glia::model model{net, image};
  for (const auto& p : model.parameters()) {
    const glia::parameter_spec spec = p.spec;
    const std::vector<std::size_t> extents(spec.shape.begin(), spec.shape.end());
    model.set(spec.name, xt::adapt(parameter_named(spec.name, spec.shape), extents));
  }
  std::vector<float> x;
  for (const double number : numbers_named("image", image.size())) {
    x.push_back(static_cast<float>(2 * number));
  }
  const std::vector<std::size_t> batch{1, image[0], image[1], image[2]};
  const xt::xarray<float> y = model.predict(xt::adapt(x, batch));
  double largest = 0;
  for (const float value : golden) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return test::distance(y, golden) / largest;
}

template <class Features, class Logits>
void check_golden(const glia::zoo_network& net, const glia::shape& image, const Features& features,
                  const Logits& logits) {
  INFO(net);
  CHECK(distance_from(net.stages(0, net.stage_count() - 1), image, features) < tolerance::golden);
  CHECK(distance_from(net, image, logits) < tolerance::golden);
}

}  // namespace

TEST_CASE("residual networks of both forms and generations give what torch's functions give") {
  const glia::zoo_options narrow{.classes = 5, .width = 1.0 / 16};
  const glia::shape image{33, 46, 3};
  check_golden(glia::resnet({2, 1, 1, 2}, narrow), image, glia_golden::resnet_keras_features,
               glia_golden::resnet_keras_logits);
  check_golden(glia::resnet({2, 1, 1, 2}, narrow, glia::zoo_form::torchvision), image,
               glia_golden::resnet_torchvision_features, glia_golden::resnet_torchvision_logits);
  check_golden(glia::resnet_v2({2, 1, 3, 2}, narrow), image, glia_golden::resnet_v2_features,
               glia_golden::resnet_v2_logits);
}

TEST_CASE("Xception gives what torch's functions give") {
  check_golden(glia::xception({.classes = 5, .width = 1.0 / 8}), {33, 46, 3},
               glia_golden::xception_features, glia_golden::xception_logits);
}

TEST_CASE("Inception v3 of both forms gives what torch's functions give") {
  const glia::zoo_options narrow{.classes = 5, .width = 1.0 / 16};
  const glia::shape image{107, 139, 3};
  check_golden(glia::inception_v3(narrow), image, glia_golden::inception_v3_keras_features,
               glia_golden::inception_v3_keras_logits);
  check_golden(glia::inception_v3(narrow, glia::zoo_form::torchvision), image,
               glia_golden::inception_v3_torchvision_features,
               glia_golden::inception_v3_torchvision_logits);
}

TEST_CASE("SqueezeNets give what torch's functions give, also where windows reach over the edge") {
  const glia::zoo_options narrow{.classes = 5, .width = 1.0 / 4};
  const glia::shape image{37, 40, 3};
  check_golden(glia::squeezenet1_0(narrow), image, glia_golden::squeezenet1_0_features,
               glia_golden::squeezenet1_0_logits);
  check_golden(glia::squeezenet1_1(narrow), image, glia_golden::squeezenet1_1_features,
               glia_golden::squeezenet1_1_logits);
}
