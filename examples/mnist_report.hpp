#pragma once

#include <cstddef>
#include <cstdint>
#include <glia/glia.hpp>
#include <glia/report.hpp>
#include <string>
#include <vector>

#include "device.hpp"
#include "ranks.hpp"

/// The options of the MNIST examples.
struct mnist_settings {
  std::string name;  ///< of the program
  glia::shape sample;
  std::size_t epochs, batch_size;
  std::string data = GLIA_EXAMPLE_DATA "/mnist";
  device_choice device = {};
  rank_choice ranks = {};
  std::string profile = {};  ///< folder; empty: none
  std::size_t images = 60000;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;
  std::string report = {};  ///< where a page about the run goes; empty: nowhere
};

/// What there is to see of a run, on one page.
template <class Trained>
void write_report(const mnist_settings& s, const Trained& net, const glia::history& history,
                  const glia::fit_options& options, const glia::image_bytes& test,
                  const glia::profile& profile) {
  glia::report page(s.name);
  page.settings({{"data", s.data},
                 {"images", glia::grouped(s.images)},
                 {"optimizer", glia::text(glia::adam{s.learning_rate})},
                 {"loss", glia::text(glia::softmax_cross_entropy{})}});
  page.settings(options);
  page.settings({{"seed", glia::text(s.seed)}, {"device", s.device.name}});
  page.add(history);
  page.add("test", glia::evaluate(net, test, glia::softmax_cross_entropy{}));
  const xt::xarray<float> outputs = glia::predict(net, test);
  std::vector<std::int32_t> labels;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < test.size(); ++i) {
    labels.push_back(test.label(i));
  }
  for (std::size_t k = 0; k < outputs.shape()[1]; ++k) {
    names.push_back(std::to_string(k));
  }
  page.add(glia::confusion_matrix(outputs, labels), names);
  page.mistakes(outputs, test, {.picture_shape = {28, 28}});
  page.add(net);
  if (profile.steps > 0) {
    page.add(profile);
  }
  page.write(s.report);
}
