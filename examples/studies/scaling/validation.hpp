#pragma once

#include <iostream>
#include <string>
#include <vector>

#include "fits.hpp"
#include "human.hpp"
#include "measurements.hpp"

/// Predicts what was not fitted, measures it, and prints both. None where nothing was asked for.
inline std::vector<measurement> validate(const std::string& program, const settings& s,
                                         const fits& of) {
  std::vector<measurement> all;
  for (std::size_t i = 0; s.validate > 0 && i < s.repetitions; ++i) {
    all.push_back(measure(program, s, s.batch_size, s.validate));
  }
  if (all.empty()) {
    return all;
  }
  const auto batch = static_cast<double>(s.batch_size);
  const auto images = static_cast<double>(s.validate);
  std::cout << "\nPredicted for " << digits(images, 0) << " images from at most "
            << digits(static_cast<double>(s.sizes.back()), 0) << ", and measured:\n";
  const auto compare = [&](const char* what, const estimate& predicted, double measurement::*of_one,
                           const std::vector<unit>& units) {
    std::cout << what << shown(predicted, units) << "; measured";
    std::size_t inside = 0;
    for (const measurement& m : all) {
      std::cout << (&m == &all.front() ? " " : ", ") << about(m.*of_one, units, 3);
      inside += m.*of_one >= predicted.low && m.*of_one <= predicted.high ? 1 : 0;
    }
    std::cout << ": " << inside << " of " << all.size() << " in the interval\n";
  };
  compare("training    ", of.epoch.line.measurement(per_image(batch, images)),
          &measurement::seconds, time_units);
  compare("predicting  ", of.prediction.line.measurement(per_image(batch, images)),
          &measurement::prediction_seconds, time_units);
  compare("memory      ", of.memory.line.measurement(per_both(batch, images)), &measurement::bytes,
          byte_units);
  return all;
}
