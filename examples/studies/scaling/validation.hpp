#pragma once

#include <iostream>
#include <string>
#include <vector>

#include "fits.hpp"
#include "human.hpp"
#include "measurements.hpp"

/// Predicts what was not fitted, measures it, and prints both. None where nothing was asked for.
inline std::vector<measurement> validate(const std::string& program, const settings& s,
                                         const fits& laws) {
  std::vector<measurement> measured;
  for (std::size_t i = 0; s.validate > 0 && i < s.repetitions; ++i) {
    measured.push_back(measure(program, s, s.batch_size, s.validate));
  }
  if (measured.empty()) {
    return measured;
  }
  const auto batch = static_cast<double>(s.batch_size);
  const auto images = static_cast<double>(s.validate);
  std::cout << "\nPredicted for " << digits(images, 0) << " images from at most "
            << digits(static_cast<double>(s.sizes.back()), 0) << ", and measured:\n";
  const auto compare = [&](const char* label, const estimate& predicted,
                           double measurement::*quantity, const std::vector<unit>& units) {
    std::cout << label << shown(predicted, units) << "; measured";
    std::size_t inside = 0;
    for (const measurement& m : measured) {
      std::cout << (&m == &measured.front() ? " " : ", ") << about(m.*quantity, units, 3);
      inside += m.*quantity >= predicted.low && m.*quantity <= predicted.high ? 1 : 0;
    }
    std::cout << ": " << inside << " of " << measured.size() << " in the interval\n";
  };
  compare("training    ", laws.epoch.line.measurement(per_image(batch, images)),
          &measurement::seconds, time_units);
  compare("predicting  ", laws.prediction.line.measurement(per_image(batch, images)),
          &measurement::prediction_seconds, time_units);
  compare("memory      ", laws.memory.line.measurement(per_both(batch, images)),
          &measurement::bytes, byte_units);
  return measured;
}
