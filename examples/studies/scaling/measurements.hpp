#pragma once

#include <filesystem>
#include <glia/core/whole_file.hpp>
#include <glia/plot/run_program.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "settings.hpp"

/// What one epoch of training took, and predicting the same images.
struct measurement {
  double batch = 0;
  double images = 0;
  double seconds = 0;  ///< of the epoch
  double prediction_seconds = 0;
  double bytes = 0;  ///< the most that the program had while it trained
};

/// Measures in a program of its own: what one training has taken, another one would find there.
inline measurement measure(const std::string& program, const settings& s, std::size_t batch,
                           std::size_t images) {
  std::vector<std::string> arguments{program,        "--measure",
                                     "--model",      s.model,
                                     "--batch-size", std::to_string(batch),
                                     "--images",     std::to_string(images),
                                     "--tries",      std::to_string(s.tries),
                                     "--output",     s.output.string(),
                                     "--seed",       std::to_string(s.seed)};
  const std::vector<std::string> device_arguments = s.device.arguments();
  arguments.insert(arguments.end(), device_arguments.begin(), device_arguments.end());
  const glia::plot::program_result result = glia::plot::run_program(arguments);
  measurement point{.batch = static_cast<double>(batch), .images = static_cast<double>(images)};
  std::istringstream(result.output) >> point.seconds >> point.prediction_seconds >> point.bytes;
  glia::require<glia::data_error>(result.status == 0 && point.bytes > 0,
                                  "measuring failed: ", result.errors);
  return point;
}

/// Against the batch, with the most images, and against the images, with the estimate's batch.
struct measurements {
  std::vector<measurement> batches;
  std::vector<measurement> sizes;
};

/// All points are measured before the first one is repeated: where the machine's speed changes, it
/// does so for all of them.
inline measurements measure_all(const std::string& program, const settings& s) {
  measurements result;
  for (std::size_t i = 0; i < s.repetitions; ++i) {
    for (const std::size_t batch : s.batches) {
      result.batches.push_back(measure(program, s, batch, s.sizes.back()));
    }
    for (const std::size_t images : s.sizes) {
      result.sizes.push_back(measure(program, s, s.batch_size, images));
    }
  }
  return result;
}

inline void write_csv(const std::filesystem::path& path, const measurements& measured) {
  glia::write_whole_file(path, [&](std::ostream& out) {
    out << "varied,batch,images,epoch_seconds,prediction_seconds,peak_bytes\n";
    for (const auto* const part : {&measured.batches, &measured.sizes}) {
      for (const measurement& m : *part) {
        out << (part == &measured.batches ? "batch," : "images,") << m.batch << ',' << m.images
            << ',' << m.seconds << ',' << m.prediction_seconds << ',' << std::fixed << m.bytes
            << std::defaultfloat << '\n';
      }
    }
  });
}
