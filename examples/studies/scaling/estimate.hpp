#pragma once

#include <cmath>
#include <filesystem>
#include <glia/core/platform/memory_use.hpp>
#include <glia/core/text_table.hpp>
#include <glia/core/whole_file.hpp>
#include <glia/models/summary.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "devices.hpp"
#include "fits.hpp"
#include "human.hpp"
#include "networks.hpp"
#include "settings.hpp"

inline constexpr double image_bytes_each = 784;  // 28 x 28 pixels of one byte

/// What training and predicting take on one machine or several.
struct answer {
  std::string name;
  estimate training;    ///< seconds, all epochs
  estimate prediction;  ///< seconds
  double dollars_per_hour;
  double memory_bytes;

  [[nodiscard]] estimate dollars() const {
    return (training + prediction) * (dollars_per_hour / 3600);
  }
};

/// This machine, several of it, and the devices of the table, whose intervals are empty: nothing
/// was measured there.
inline std::vector<answer> answers(const settings& s, const fits& laws, const image_flops& flops) {
  const auto memory = static_cast<double>(glia::platform::machine_bytes());
  const estimate training = at_least_0(laws.epoch.line.mean(per_image(0, s.train))) * s.epochs;
  const estimate prediction = at_least_0(laws.prediction.line.mean(per_image(0, s.test)));
  const double share = 1 / (s.machines * s.efficiency);
  std::vector<answer> result{{"this machine", training, prediction, s.price, memory},
                             {digits(s.machines, 0) + " of it", training * share,
                              prediction * share, s.machines * s.price, s.machines * memory}};
  for (const device& d : read_devices(s.devices)) {
    const auto exact = [](double value) { return estimate{value, value, value}; };
    result.push_back({d.name, exact(s.epochs * s.train * flops.training / d.flops_per_second),
                      exact(s.test * flops.prediction / d.flops_per_second), d.dollars_per_hour,
                      d.memory_bytes});
  }
  return result;
}

inline void print_laws(const fits& laws) {
  const auto per = [](const fitted_law& law, std::size_t term, const std::vector<unit>& units) {
    return shown(law.line.coefficient(term), units);
  };
  const auto deviation = [](const fitted_law& law) {
    return "; means off by up to " + digits(100 * law.worst, 0) + " %\n";
  };
  std::cout << "\nLeast squares, with intervals of 95 % confidence:\n"
            << "training an image   a + b / batch      a = " << per(laws.image, 0, time_units)
            << ", b = " << per(laws.image, 1, time_units) << deviation(laws.image)
            << "training an epoch   a + b N            a = " << per(laws.epoch, 0, time_units)
            << ", b = " << per(laws.epoch, 1, time_units) << deviation(laws.epoch)
            << "predicting          a + b N            a = " << per(laws.prediction, 0, time_units)
            << ", b = " << per(laws.prediction, 1, time_units) << deviation(laws.prediction)
            << "peak memory         c + d batch + e N  c = " << per(laws.memory, 0, byte_units)
            << ", d = " << per(laws.memory, 1, byte_units)
            << ", e = " << per(laws.memory, 2, byte_units) << deviation(laws.memory);
}

/// What the data and the network take of disks and memory.
inline void print_memory(const settings& s, const fits& laws, const answer& machine) {
  const auto batch = static_cast<double>(s.batch_size);
  const estimate loaded = at_least_0(laws.memory.line.mean(per_both(batch, s.train)));
  const estimate streamed = at_least_0(laws.memory.line.mean(per_both(batch, 0)));
  std::cout << "\n"
            << digits(s.train, 0) << " images to train with, " << digits(s.test, 0)
            << " to predict, in batches of " << s.batch_size << ", epochs: " << digits(s.epochs, 0)
            << "\n  images on disks: " << about(image_bytes_each * s.train, byte_units) << " and "
            << about(image_bytes_each * s.test, byte_units) << ", " << digits(image_bytes_each, 0)
            << " bytes each\n  training with all of them in memory: " << shown(loaded, byte_units)
            << "\n  this machine has " << about(machine.memory_bytes, byte_units) << ": "
            << (loaded.value > machine.memory_bytes
                    ? "they do not fit and are streamed, which leaves " +
                          shown(streamed, byte_units)
                    : "they fit")
            << "\n  training reads "
            << about(image_bytes_each * s.train * s.epochs / machine.training.value, byte_units)
            << "/s, predicting "
            << about(image_bytes_each * s.test / machine.prediction.value, byte_units) << "/s\n";
}

inline void print_assumptions(const settings& s, const image_flops& flops) {
  std::cout
      << "\nAssumed:\n  that the lines go on: "
      << digits(s.train / static_cast<double>(s.sizes.back()), 0)
      << " times the most images that were measured; the intervals know nothing of that\n"
      << "  that nothing else runs: of each repetition's epochs (--tries " << s.tries
      << ") the fastest counts\n"
      << "  that streaming keeps up, from disks or networks that read as fast as said\n  "
      << digits(s.machines, 0) << " machines are " << s.efficiency << " x " << digits(s.machines, 0)
      << " times as fast as one (--efficiency); one costs $" << digits(s.price, -2)
      << " an hour (--price)\n"
      << "  ResNet-50 takes " << glia::scaled(resnet50_flops, "FLOP")
      << " a training step and image: 3 x 2 x 4.1 billion multiply-adds forward (He et al. 2016: "
         "3.8)\n  this network takes "
      << glia::scaled(flops.training, "FLOP") << " a training step and image: 3 x "
      << glia::scaled(flops.prediction, "FLOP")
      << " a prediction, as glia counts\n  devices do as many operations a second here as in "
         "training ResNet-50: networks this small reach less\n";
}

inline void print_answers(const settings& s, const std::vector<answer>& estimates) {
  std::vector<std::vector<std::string>> rows{
      {"", "training", "predicting", "dollars", "training reads", "in memory"}};
  for (const answer& a : estimates) {
    const double rate = image_bytes_each * s.train * s.epochs / a.training.value;
    rows.push_back({a.name, shown(a.training, time_units), shown(a.prediction, time_units),
                    shown(a.dollars(), dollar_units, "$"), about(rate, byte_units) + "/s",
                    image_bytes_each * s.train > a.memory_bytes ? "streamed" : "all"});
  }
  std::cout << '\n' << glia::text_table(rows);
}

inline void write_csv(const std::filesystem::path& path, const settings& s,
                      const std::vector<answer>& estimates) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    out << "name,training_seconds,training_low,training_high,prediction_seconds,prediction_low,"
           "prediction_high,dollars,dollars_low,dollars_high,training_reads_bytes_per_second\n";
    for (const answer& a : estimates) {
      out << a.name;
      for (const estimate& e : {a.training, a.prediction, a.dollars()}) {
        out << ',' << e.value << ',' << e.low << ',' << e.high;
      }
      out << ',' << image_bytes_each * s.train * s.epochs / a.training.value << '\n';
    }
  });
}
