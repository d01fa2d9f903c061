// Tells what people do in clips, or of features of their frames; with --demo of drawn ones.
//
//     examples/run video --clips UCF-101 --lists ucfTrainTestlist --weights resnet152v2.h5
//     examples/run video --clips FOLDER
//     examples/run video --features FOLDER --seeds 3
//     examples/run video --demo
//
// Of clips, in a folder for each class, five frames each go through a residual network, whose last
// 24 layers are trained, and a recurrent one then. What the frozen layers give is kept in a file
// for each clip; with --augment the clips vary, and all layers run each time. A model is saved
// after each epoch, and an interrupted training continues when the program runs again.
//
// A folder of features holds what another network said of each frame: features_*.npy (clips,
// frames, features), labels_u8.npy, split_u8.npy (1 to train with, 2 to judge by) and actions.txt.
// Two views of them are trained: what is seen, and in which order, by a recurrent network.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <glia/glia.hpp>
#include <glia/training/confusion.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "../device.hpp"
#include "../program.hpp"
#include "../ranks.hpp"
#include "clips.hpp"
#include "features.hpp"
#include "network.hpp"

namespace {

struct settings {
  std::filesystem::path features;
  std::vector<int> left_out{1};
  bool demo = false;
  std::size_t epochs = 40, batch_size = 32, units = 128, seeds = 1;
  std::uint64_t seed = 1;
  double learning_rate = 3e-3;
  clip_settings clips;
  device_choice device;
  rank_choice ranks;
};

[[nodiscard]] glia::target_arrays data_of(const clip_features& clips, std::size_t classes) {
  const xt::xarray<float> rows = rows_with_one(clips.labels, classes);
  return {clips.frames, glia::rows_of({{"frames", rows}, {"order", rows}})};
}

[[nodiscard]] glia::confusion_matrix train_and_judge(const settings& s, const split_features& clips,
                                                     std::uint64_t seed, const glia::device& device,
                                                     const run_ranks& ranks) {
  const std::size_t classes = clips.classes.size();
  const glia::target_arrays train = data_of(clips.train, classes);
  const glia::target_arrays test = data_of(clips.test, classes);
  glia::model net{two_views(s.units, classes), train.input_shape(), device, {.seed = seed}};
  if (seed == s.seed) {
    std::cout << net.summary() << '\n';
  }
  const std::size_t steps = s.epochs * ((train.size() + s.batch_size - 1) / s.batch_size);
  glia::trainer trainer{net, losses_of_views(),
                        glia::adam{.learning_rate = glia::cosine_decay(s.learning_rate, steps)},
                        ranks.share({.seed = seed})};
  trainer.fit(train, test,
              {.epochs = s.epochs,
               .batch_size = s.batch_size,
               .metrics = {glia::for_output("frames", glia::accuracy()),
                           glia::for_output("order", glia::accuracy())}});
  const xt::xarray<float> y = glia::predict(net, test);
  const xt::xarray<float> said = (glia::part_of(y, "frames", net.plan().outputs) +
                                  glia::part_of(y, "order", net.plan().outputs)) /
                                 2;
  return {said, clips.test.labels};
}

/// Trains on features as often as there are seeds, and says how good that was.
void train_on_features(const settings& s, const run_ranks& ranks) {
  split_features clips = s.demo ? draw_features(s.seed) : read_features(s.features, s.left_out);
  normalize_frames(clips.train.frames);
  normalize_frames(clips.test.frames);
  std::cout << clips.train.size() << " clips to train with, " << clips.test.size()
            << " to judge by, of " << clips.classes.size() << " classes\n\n";
  std::vector<double> accuracies;
  const glia::device device = make_device(s.device);
  for (std::uint64_t seed = s.seed; seed < s.seed + s.seeds; ++seed) {
    const glia::confusion_matrix confusion = train_and_judge(s, clips, seed, device, ranks);
    std::cout << '\n' << confusion.table(clips.classes) << '\n';
    accuracies.push_back(confusion.accuracy());
  }
  std::cout << "accuracy of both views together" << std::fixed << std::setprecision(2);
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    std::cout << (i == 0 ? ": " : ", ") << 100 * accuracies[i] << " % (seed " << s.seed + i << ')';
  }
  std::cout << '\n';
}

}  // namespace

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Tells what people do in clips"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  auto* features = app.add_option("--features", s.features, "folder with the features of frames");
  auto* demo = app.add_flag("--demo", s.demo, "draws features instead")->excludes(features);
  clip_settings& c = s.clips;
  auto* clips = app.add_option("--clips", c.clips, "folder with a folder of clips for each class")
                    ->excludes(features, demo);
  app.add_option("--lists", c.lists, "folder of UCF101's splits; else a fifth is held out")
      ->needs(clips);
  app.add_option("--split", c.split, "of UCF101's lists")->check(CLI::Range(1, 3));
  app.add_option("--weights", c.weights, "Keras's .h5 of the network for frames; none: random")
      ->needs(clips);
  app.add_option("--network", c.network, "for the frames of clips")
      ->check(CLI::IsMember({"resnet152_v2", "resnet50_v2"}));
  app.add_option("--width", c.width, "of that network's channels; as published: 1")
      ->check(CLI::Range(0.01, 4.0));
  app.add_option("--frames", c.frames, "of each clip")->check(CLI::Range(1, 1000));
  app.add_option("--extent", c.extent, "of a frame, in pixels")->check(CLI::Range(32, 2000));
  app.add_option("--output", c.output, "folder for what comes of clips")->take_last();
  app.add_flag("--augment", c.augment, "vary the clips")->needs(clips);
  app.add_option("--leave-out", s.left_out, "classes, counted from 1, that are passed over");
  app.add_option("--epochs", s.epochs, "; of clips 150")->check(at_least_one);
  app.add_option("--batch", s.batch_size, "; of clips 8")->check(at_least_one);
  app.add_option("--units", s.units, "of the recurrent layer, for each direction")
      ->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate, "; of clips 0.01")
      ->check(CLI::Range(1e-9, 10.0));
  app.add_option("--seed", s.seed, "the first one");
  app.add_option("--seeds", s.seeds, "how often it is trained, with a seed more each time")
      ->check(at_least_one);
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  CLI11_PARSE(app, argc, argv);
  if (!c.clips.empty()) {
    const auto take = [&](const char* option, const auto& value, auto& destination) {
      destination = app.count(option) > 0 ? value : destination;
    };
    take("--epochs", s.epochs, c.epochs);
    take("--batch", s.batch_size, c.batch_size);
    take("--learning-rate", s.learning_rate, c.learning_rate);
    c.units = s.units;
    c.seed = s.seed;
    return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
      c.threads = s.device.threads;
      return train_on_clips(c, make_device(s.device), ranks);
    });
  }
  glia::require<glia::value_error>(s.demo || !s.features.empty(),
                                   "video: expected --clips FOLDER, --features FOLDER or --demo");
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    train_on_features(s, ranks);
    return 0;
  });
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("video", argc, argv, &run);
}
