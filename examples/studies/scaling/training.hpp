#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <glia/glia.hpp>
#include <iostream>
#include <numeric>
#include <vector>

#include "images.hpp"
#include "networks.hpp"
#include "settings.hpp"

/// Trains for an epoch and predicts, once all is warm, and prints what that took.
inline void measure_on(const settings& s, const glia::device& device) {
  with_network(s.model, [&](const auto& network, const glia::shape& sample) {
    const glia::image_bytes data = read_images(s.output / "images.bin", sample, s.images);
    std::vector<std::uint32_t> first(std::min(s.images, 4 * s.batch_size));
    std::iota(first.begin(), first.end(), 0U);
    const glia::subset warm_up(data, first);

    glia::model net{network, sample, device, {.seed = s.seed}};
    const glia::softmax_cross_entropy loss;
    glia::trainer trainer{net, loss, glia::adam{1e-3}, {.seed = s.seed}};
    const glia::fit_options options{.batch_size = s.batch_size, .progress = nullptr};
    trainer.fit(warm_up, options);
    double seconds = trainer.fit(data, options).seconds();
    for (std::size_t i = 1; i < s.tries; ++i) {
      seconds = std::min(seconds, trainer.fit(data, options).seconds());
    }
    const std::size_t bytes = glia::peak_resident_bytes();

    (void)glia::evaluate(net, warm_up, loss);
    std::chrono::duration<double> prediction = std::chrono::hours(1'000'000);
    for (std::size_t i = 0; i < s.tries; ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)glia::evaluate(net, data, loss);
      prediction = std::min<std::chrono::duration<double>>(
          prediction, std::chrono::steady_clock::now() - start);
    }
    std::cout << seconds << ' ' << prediction.count() << ' ' << bytes << '\n';
  });
}

inline void measure_here(const settings& s) { measure_on(s, make_device(s.device)); }
