// Tells what people do in clips, of features of their frames; with --demo of drawn ones.
//
//     examples/run video --features FOLDER --seeds 3
//     examples/run video --demo
//
// The folder holds what another network said of each frame: features_*.npy (clips, frames,
// features), labels_u8.npy, split_u8.npy (1 to train with, 2 to judge by) and actions.txt.
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
  device_choice where;
};

[[nodiscard]] glia::valued_arrays data_of(const clip_features& clips, std::size_t classes) {
  const xt::xarray<float> rows = rows_with_one(clips.labels, classes);
  return {clips.frames, glia::rows_of({{"frames", rows}, {"order", rows}})};
}

template <class B>
[[nodiscard]] glia::confusion_matrix train_and_judge(const settings& s, const split_features& clips,
                                                     std::uint64_t seed, const B& device) {
  const std::size_t classes = clips.classes.size();
  const glia::valued_arrays train = data_of(clips.train, classes);
  const glia::valued_arrays test = data_of(clips.test, classes);
  glia::model net{two_views(s.units, classes), train.input_shape(), device, {.seed = seed}};
  if (seed == s.seed) {
    std::cout << net.summary() << '\n';
  }
  const std::size_t steps = s.epochs * ((train.size() + s.batch_size - 1) / s.batch_size);
  glia::trainer trainer{net,
                        losses_of_views(),
                        glia::adam{.learning_rate = glia::cosine_decay(s.learning_rate, steps)},
                        {.seed = seed}};
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

}  // namespace

int main(int argc, char** argv) try {
  settings s;
  CLI::App app{"Tells what people do in clips"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  auto* features = app.add_option("--features", s.features, "folder with the features of frames");
  app.add_flag("--demo", s.demo, "draws features instead")->excludes(features);
  app.add_option("--leave-out", s.left_out, "classes, counted from 1, that are passed over");
  app.add_option("--epochs", s.epochs)->check(at_least_one);
  app.add_option("--batch", s.batch_size)->check(at_least_one);
  app.add_option("--units", s.units, "of the recurrent layer, for each direction")
      ->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate)->check(CLI::Range(1e-9, 10.0));
  app.add_option("--seed", s.seed, "the first one");
  app.add_option("--seeds", s.seeds, "how often it is trained, with a seed more each time")
      ->check(at_least_one);
  add_device_options(app, s.where);
  CLI11_PARSE(app, argc, argv);
  glia::require<glia::value_error>(s.demo || !s.features.empty(),
                                   "video: expected --features FOLDER or --demo");

  split_features clips = s.demo ? draw_features(s.seed) : read_features(s.features, s.left_out);
  normalise_frames(clips.train.frames);
  normalise_frames(clips.test.frames);
  std::cout << clips.train.size() << " clips to train with, " << clips.test.size()
            << " to judge by, of " << clips.classes.size() << " classes\n\n";
  std::vector<double> accuracies;
  on_device(s.where, [&](const auto& device) {
    for (std::uint64_t seed = s.seed; seed < s.seed + s.seeds; ++seed) {
      const glia::confusion_matrix confusion = train_and_judge(s, clips, seed, device);
      std::cout << '\n' << confusion.table(clips.classes) << '\n';
      accuracies.push_back(confusion.accuracy());
    }
  });
  std::cout << "accuracy of both views together" << std::fixed << std::setprecision(2);
  for (std::size_t i = 0; i < accuracies.size(); ++i) {
    std::cout << (i == 0 ? ": " : ", ") << 100 * accuracies[i] << " % (seed " << s.seed + i << ')';
  }
  std::cout << '\n';
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
