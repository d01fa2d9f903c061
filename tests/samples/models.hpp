#pragma once

#include <cstdint>
#include <glia/backends/reference.hpp>
#include <glia/layers/dense.hpp>
#include <glia/layers/normalization.hpp>
#include <glia/layers/sequential.hpp>
#include <glia/models/model.hpp>
#include <glia/models/model_file.hpp>
#include <vector>

#include "samples/checkpoints.hpp"

namespace test::samples {

/// A model that these files are of, and nothing more than that.
[[nodiscard]] inline auto small_model(std::uint64_t seed) {
  return glia::model{glia::sequential{glia::dense{2}, glia::batch_norm{}},
                     {1},
                     glia::reference<float>(),
                     {.seed = seed}};
}

[[nodiscard]] inline std::vector<training_file> model() {
  return {file_by([](const auto& path) { glia::save(small_model(1), path); })};
}

}  // namespace test::samples
