#pragma once

#include <cstddef>
#include <filesystem>
#include <glia/core/whole_file.hpp>
#include <glia/plot.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/confusion.hpp>
#include <glia/training/reduce_lr_on_plateau.hpp>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../judged.hpp"
#include "clip_network.hpp"
#include "kept_clips.hpp"
#include "ucf101.hpp"

struct clip_settings {
  std::filesystem::path clips;    ///< a folder for each class
  std::filesystem::path lists;    ///< of UCF101; empty: a fifth of the clips is held out
  std::filesystem::path weights;  ///< Keras's of the network for frames; empty: random ones
  std::filesystem::path output = "video_results";
  std::string network = "resnet152_v2";
  int split = 1;
  std::size_t frames = 5, extent = 224, epochs = 150, batch_size = 8, units = 128;
  std::size_t threads = 0;
  double width = 1, learning_rate = 0.01;
  bool augment = false;
  std::uint64_t seed = 1;
};

/// Clips to train with and to judge by, and the names of their classes.
struct split_clips {
  std::vector<glia::clip_file> train, test;
  std::vector<std::string> classes;
};

[[nodiscard]] inline split_clips clips_of(const clip_settings& s) {
  if (!s.lists.empty()) {
    ucf101_clips ucf = ucf101_split(s.clips, s.lists, {.split = s.split, .allow_missing = true});
    if (ucf.missing > 0) {
      std::cout << ucf.missing << " clips of the lists are not there and left out\n";
    }
    return {std::move(ucf.train), std::move(ucf.test), std::move(ucf.class_names)};
  }
  const glia::image_folder folder(s.clips);
  auto [train, test] = folder.split(0.2);
  return {std::move(train), std::move(test), folder.class_names()};
}

/// Frames as the network saw the photos that it was trained on. Only those that are trained with
/// are varied, all of a clip alike.
[[nodiscard]] inline glia::clip_dataset_options frames_of(const clip_settings& s, bool varied) {
  glia::clip_dataset_options options{.frames = s.frames,
                                     .height = s.extent,
                                     .width = s.extent,
                                     .seed = s.seed,
                                     .mean = {0.5F, 0.5F, 0.5F},
                                     .std = {0.5F, 0.5F, 0.5F},
                                     .threads = s.threads};
  if (varied) {
    options.augmentation = {
        .horizontal_flip = 0.5, .rotation = 8, .zoom = {0.9, 1.1}, .shift = 0.2};
  }
  return options;
}

/// A callback that saves the model after each epoch, the epoch, its loss and its accuracy in the
/// file's name.
template <class Model>
[[nodiscard]] glia::callback save_each_epoch(const Model& net,
                                             const std::filesystem::path& folder) {
  return glia::on_event(glia::event::epoch_end, [&net, folder](const glia::training& t) {
    const glia::epoch_record& epoch = t.history.epochs.back();
    const glia::scores& judged = epoch.validation ? *epoch.validation : epoch.training;
    std::ostringstream name;
    name << "epoch-" << std::setfill('0') << std::setw(3) << t.epoch << std::fixed
         << std::setprecision(4) << "-loss-" << judged.loss << "-accuracy-" << judged["accuracy"]
         << ".safetensors";
    if (t.rank == 0) {
      glia::save(net, folder / name.str());
    }
  });
}

/// The frames of a dozen clips, side by side, with what they were taken for.
inline void write_contact_sheet(const std::filesystem::path& path, const glia::clip_dataset& clips,
                                const xt::xarray<float>& probabilities,
                                const std::vector<std::string>& names) {
  constexpr std::size_t extent = 96;
  std::vector<judged> samples;
  for (const std::size_t n : spread(12, clips.size())) {
    std::vector<glia::framed_image> frames;
    for (const glia::image& frame : clips.frames(n)) {
      frames.push_back({glia::resize(frame, extent, extent)});
    }
    const std::size_t taken_for = ranking(probabilities, n).front();
    samples.push_back({glia::image_grid(frames, {.columns = frames.size(), .border = 0, .gap = 2}),
                       taken_for, static_cast<std::size_t>(clips.label(n)),
                       probabilities(n, taken_for)});
  }
  write_judged(path, samples, 2, names);
}

/// Trains a model on clips or on what is kept of them, judges it and writes what came of it.
template <class Model, class Train, class Test>
int train_and_report(const clip_settings& s, Model& net, const Train& train, const Test& test,
                     const glia::clip_dataset& shown, const std::vector<std::string>& classes,
                     const run_ranks& ranks) {
  std::cout << net.summary() << '\n';
  glia::trainer trainer{net, glia::softmax_cross_entropy{},
                        glia::sgd{.learning_rate = s.learning_rate, .momentum = 0.9},
                        ranks.share({.seed = s.seed})};
  const glia::history history =
      trainer.fit(train, test,
                  {.epochs = s.epochs,
                   .batch_size = s.batch_size,
                   .callbacks = {glia::reduce_lr_on_plateau{.factor = 0.5, .patience = 5},
                                 save_each_epoch(net, s.output),
                                 glia::checkpoints{s.output / "resume", {.keep_last = 2}}},
                   .resume = true});
  if (history.interrupted) {
    std::cout << "interrupted; run again to go on\n";
    return 130;
  }
  if (!ranks.is_first()) {
    return 0;
  }
  const xt::xarray<float> probabilities = probabilities_of(glia::predict(net, test));
  const glia::confusion_matrix confusion(probabilities, labels_of(shown.files()));
  std::cout << '\n' << confusion.table(classes) << '\n';
  glia::write_whole_file(s.output / "classes.txt",
                         [&](std::ostream& out) { out << confusion.table(classes); });
  draw([&] { glia::plot::history(s.output / "history.svg", history); });
  write_contact_sheet(s.output / "clips.png", shown, probabilities, classes);
  std::cout << std::fixed << std::setprecision(2) << "test accuracy " << 100 * confusion.accuracy()
            << " %; results are in " << s.output.string() << '\n';
  return 0;
}

inline int train_on_clips(const clip_settings& s, const glia::device& device,
                          const run_ranks& ranks) {
  const split_clips clips = clips_of(s);
  const std::size_t classes = clips.classes.size();
  std::cout << clips.train.size() << " clips to train with, " << clips.test.size()
            << " to judge by, of " << classes << " classes; "
            << (s.weights.empty() ? "the frames' network has random weights"
                                  : "weights of " + s.weights.string())
            << '\n';
  std::filesystem::create_directories(s.output);
  const frame_network frames(s.network == "resnet50_v2" ? glia::resnet50_v2({.width = s.width})
                                                        : glia::resnet152_v2({.width = s.width}));
  const glia::clip_dataset train(clips.train, frames_of(s, s.augment));
  const glia::clip_dataset test(clips.test, frames_of(s, false));
  const glia::shape image{s.extent, s.extent, 3};
  const glia::model_options seeded{.seed = s.seed};
  if (s.augment) {
    const glia::sequential layers{glia::frozen{frames.frozen()}, frames.trained()};
    glia::model net{clip_network(layers, s.units, classes), train.input_shape(), device, seeded};
    load_frame_weights(net, frames.frozen(), s.weights);
    load_frame_weights(net, frames.trained(), s.weights);
    return train_and_report(s, net, train, test, test, clips.classes, ranks);
  }
  glia::model frozen{frames.frozen(), image, device, seeded};
  load_frame_weights(frozen, frames.frozen(), s.weights);
  glia::shape sample{s.frames};
  for (const std::size_t extent : frozen.output_shape()) {
    sample.push_back(extent);
  }
  const std::filesystem::path folder =
      s.output / glia::text("frozen-", s.frames, "x", s.extent, "-", fingerprint_of(frozen));
  std::filesystem::create_directories(folder);
  const kept_clips kept_train(folder, clips.train, sample);
  const kept_clips kept_test(folder, clips.test, sample);
  if (!run_frozen(frozen, train, kept_train, "training", ranks) ||
      !run_frozen(frozen, test, kept_test, "test", ranks)) {
    std::cout << "interrupted; run again to go on\n";
    return 130;
  }
  glia::model net{clip_network(frames.trained(), s.units, classes), sample, device, seeded};
  load_frame_weights(net, frames.trained(), s.weights);
  return train_and_report(s, net, kept_train, kept_test, test, clips.classes, ranks);
}
