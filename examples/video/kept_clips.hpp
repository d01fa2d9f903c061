#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <glia/core/checksum.hpp>
#include <glia/glia.hpp>
#include <glia/io/safetensors.hpp>
#include <glia/training/interrupt.hpp>
#include <glia/training/terminal.hpp>
#include <glia/video.hpp>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../ranks.hpp"

/// Clips as what frozen layers give for their frames, a file for each.
class kept_clips {
 public:
  kept_clips(const std::filesystem::path& folder, const std::vector<glia::clip_file>& clips,
             const glia::shape& sample)
      : sample_(sample) {
    for (const glia::clip_file& clip : clips) {
      labels_.push_back(clip.label);
      files_.push_back(folder /
                       glia::text(clip.label, '-', clip.path.filename().string(), ".safetensors"));
    }
  }

  [[nodiscard]] std::size_t size() const { return files_.size(); }
  [[nodiscard]] const glia::shape& input_shape() const { return sample_; }
  [[nodiscard]] std::int32_t label(std::size_t i) const { return labels_[i]; }
  void input(std::size_t i, std::span<float> values) const {
    const glia::tensor_map tensors = glia::read_safetensors(files_[i]);
    const auto found = tensors.find(name);
    glia::require<glia::data_error>(found != tensors.end() && found->second.size() == values.size(),
                                    files_[i].string(), ": expected '", name, "' of ",
                                    values.size(),
                                    " numbers; remove the file, and it is made anew");
    std::copy(found->second.begin(), found->second.end(), values.begin());
  }

  [[nodiscard]] bool has(std::size_t i) const { return std::filesystem::exists(files_[i]); }
  void keep(std::size_t i, std::span<const float> values) const {
    xt::xarray<float> tensor = xt::zeros<float>({values.size()});
    std::copy(values.begin(), values.end(), tensor.begin());
    glia::write_safetensors(files_[i], {{name, std::move(tensor)}});
  }

 private:
  static constexpr const char* name = "frames";

  glia::shape sample_;
  std::vector<std::int32_t> labels_;
  std::vector<std::filesystem::path> files_;
};

/// Returns a checksum of the model's parameters.
template <class Model>
[[nodiscard]] std::string fingerprint_of(const Model& net) {
  glia::checksum sum;
  for (const auto& p : net.parameters()) {
    const xt::xarray<float> values = net.get(p.spec.name);
    sum.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  return glia::text(sum.value());
}

/// The missing clips that a process runs: every `stride`-th clip, beginning with clip `first`.
struct turn {
  std::size_t first = 0, stride = 1;
};

/// Runs the frames of clips that are not kept yet through a network. False where Ctrl-C came
/// between.
template <class Model>
[[nodiscard]] bool run_missing(const Model& net, const glia::clip_dataset& clips,
                               const kept_clips& store, std::string_view name, const turn& share) {
  constexpr std::size_t batch_size = 4;  // clips, which are decoded side by side
  const glia::interrupt_guard interrupt;
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < clips.size(); ++i) {
    if (!store.has(i) && i % share.stride == share.first) {
      missing.push_back(i);
    }
  }
  const std::size_t size = clips.input_shape().size();
  const std::size_t outputs = store.input_shape().size();
  std::vector<float> frames;
  std::vector<float> features;
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t done = 0; done < missing.size() && !interrupt.interrupted();
       done += batch_size) {
    const auto batch =
        std::span(missing).subspan(done, std::min(batch_size, missing.size() - done));
    frames.resize(batch.size() * size);
    features.resize(batch.size() * outputs);
    clips.inputs(batch, frames);
    net.predict_batch(frames, features);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      store.keep(batch[i], std::span(features).subspan(i * outputs, outputs));
    }
    if (glia::is_terminal(std::cout)) {
      std::cout << '\r' << name << ": " << done + batch.size() << '/' << missing.size() << " clips"
                << std::flush;
    }
  }
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
  std::cout << (glia::is_terminal(std::cout) ? "\r" : "") << name << ": " << missing.size()
            << " clips through the frozen layers in " << std::fixed << std::setprecision(2)
            << duration.count() << " s, " << clips.size() - missing.size() << " were kept before\n";
  return !interrupt.interrupted();
}

/// Runs the frames of those clips through a network that are not kept yet, each process some of
/// them where there are several and they share the folder. False where Ctrl-C came between; what is
/// done by then stays.
template <class Model>
[[nodiscard]] bool run_frozen(const Model& net, const glia::clip_dataset& clips,
                              const kept_clips& store, std::string_view name,
                              const run_ranks& ranks) {
  if (ranks.group() == nullptr) {
    return run_missing(net, clips, store, name, {});
  }
  // What others have put into a folder of their own is still missing in the second pass.
  for (const std::size_t stride : {ranks.group()->size(), std::size_t{1}}) {
    const std::size_t first = ranks.group()->rank() % stride;
    const bool whole = run_missing(net, clips, store, name, {first, stride});
    for (const int done : glia::gather_values(*ranks.group(), whole ? 1 : 0)) {
      if (done == 0) {
        return false;
      }
    }
  }
  return true;
}
