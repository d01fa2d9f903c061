// Teaches MobileNetV2, trained on ImageNet, to tell five flowers apart, in half a minute on a CPU.
//
//     examples/run flowers --data PHOTOS --weights mobilenet_v2.safetensors
//     examples/run flowers --data PETS --classes cat dog
//     examples/run flowers --predict photo.jpg another.jpg
//     examples/run flowers --demo
//     examples/run flowers --model xception --weights xception_weights.h5
//
// The network's features are frozen and computed once for each photo; what is trained is one layer
// on top (dropout 0.4, Adam at 1e-3, batches of 32, 12 epochs; a fifth of the photos held out).
// README.md says where photos and weights come from; --demo needs neither: it draws flowers and
// trains a small network from nothing. The output folder gets
// labels.txt, model.safetensors, history and confusion matrix as text and as pictures, charts and a
// grid of judged photos.
//
// --model xception trains all of Xception instead, at 331x331, on photos in TFRecord files that it
// writes: 16 photos at a time for steps of 128, by a rate that is ramped up over five epochs.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <glia/training/confusion.hpp>
#include <glia/training/history_csv.hpp>
#include <glia/training/interrupt.hpp>
#include <glia/training/profiler.hpp>
#include <iomanip>
#include <optional>

#include "../device.hpp"
#include "../program.hpp"
#include "../ranks.hpp"
#include "network.hpp"
#include "photos.hpp"
#include "report.hpp"
#include "xception.hpp"

struct settings {
  std::filesystem::path data = GLIA_EXAMPLE_DATA "/flowers";
  std::filesystem::path weights = GLIA_EXAMPLE_DATA "/mobilenet_v2/mobilenet_v2.safetensors";
  std::filesystem::path output = "flowers_results";
  std::filesystem::path profile;  // folder; empty: none
  std::vector<std::string> classes{"daisy", "dandelion", "rose", "sunflower", "tulip"};
  std::vector<std::string> predict;
  std::string model = "mobilenet_v2";
  bool demo = false, skip_broken = false, augment = false;
  std::size_t epochs = 12, batch_size = 32, fine_tune = 0, extent = 224;
  device_choice device;
  rank_choice ranks;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;

  [[nodiscard]] bool is_xception() const { return model == "xception"; }
  /// A demonstration's network is narrow.
  [[nodiscard]] double width() const { return demo ? 0.25 : 1; }
};

/// Photos as the network saw those that it was trained on.
glia::image_dataset_options photo(const settings& s) {
  constexpr std::array<float, 3> half{0.5F, 0.5F, 0.5F};
  return {.height = s.extent,
          .width = s.extent,
          .seed = s.seed,
          .mean = s.is_xception() ? half : glia::imagenet_mean,
          .std = s.is_xception() ? half : glia::imagenet_std,
          .threads = s.device.threads};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void write_results(const settings& s, const glia::history& history,
                   const glia::confusion_matrix& confusion, const std::vector<double>& ends) {
  write_labels(s.output / "labels.txt", s.classes);
  glia::write_history_csv(s.output / "history.csv", history);
  glia::write_whole_file(s.output / "confusion.txt",
                         [&](std::ostream& out) { out << confusion.table(s.classes); });
  // Others reported one task; a chart of another would compare nothing.
  const bool as_reported =
      !s.demo && s.epochs == settings{}.epochs && s.classes == settings{}.classes;
  as_reported ? write_charts(s.output, ends) : remove_charts(s.output);
  draw([&] { glia::plot::history(s.output / "history.svg", history); });
  draw([&] { glia::plot::confusion(s.output / "confusion.svg", confusion, s.classes); });
}

glia::image_folder folder_of(const settings& s) {
  return photos_of(
      s.demo ? draw_flowers(s.output / "demo", s.classes, 60, s.extent) : s.data,
      {.class_names = s.classes, .skip_broken = s.skip_broken, .threads = s.device.threads});
}

/// What has been trained, as files and in words.
template <class Model>
void conclude(const settings& s, const Model& net, const glia::dataset_view& judged,
              const glia::image_dataset& photos, const glia::history& history,
              const std::vector<double>& ends, std::chrono::steady_clock::time_point start) {
  const xt::xarray<float> probabilities = probabilities_of(glia::predict(net, judged));
  const glia::confusion_matrix confusion(probabilities, labels_of(photos.files()));
  std::cout << '\n' << confusion.table(s.classes) << '\n';
  // Last of the two comes what --predict reads first: it stands for both.
  std::filesystem::remove(s.output / "labels.txt");
  glia::write_safetensors(s.output / "model.safetensors", glia::parameters_of(net));
  write_results(s, history, confusion, ends);
  write_grid(s.output / "validation.png", photos, probabilities, s.classes);
  std::cout << std::fixed << std::setprecision(2) << "validation accuracy "
            << 100 * confusion.accuracy() << " %, " << ends.back() << " s for " << ends.size()
            << " epochs, " << seconds_since(start) << " s in all, peak memory "
            << glia::scaled(static_cast<double>(glia::peak_resident_bytes()), "B")
            << "; results are in " << s.output.string() << '\n';
}

int train_xception(const settings& s, const glia::device& device, const run_ranks& ranks) {
  constexpr std::size_t photos_in_step = 128;
  const auto start = std::chrono::steady_clock::now();
  const glia::interrupt_guard interrupt;
  std::filesystem::create_directories(s.output);
  const glia::image_folder folder = folder_of(s);
  const auto [training, held_out] = folder.split(0.2);
  glia::tfrecord_dataset_options varied{.images = photo(s), .interleaved = true};
  varied.images.augmentation = {.horizontal_flip = 0.5, .saturation = {0, 2}};
  const std::filesystem::path records = s.output / "records";
  const glia::tfrecord_dataset train(records_of(training, records / "train", s.classes, s.seed),
                                     varied);
  const glia::image_dataset validation(held_out, photo(s));

  glia::model net{xception_network({.width = s.width()}, s.classes.size()),
                  train.input_shape(),
                  device,
                  {.seed = s.seed}};
  if (!s.weights.empty()) {
    load_xception(net, s.weights);
  }
  std::cout << net.parameter_count() << " parameters, all trained, "
            << (s.weights.empty() ? "from nothing" : "from " + s.weights.string()) << '\n';
  const std::size_t batches = std::max<std::size_t>(1, photos_in_step / s.batch_size);
  const std::size_t steps =
      std::max<std::size_t>(1, (train.size() + photos_in_step - 1) / photos_in_step);
  glia::trainer trainer{
      net, glia::softmax_cross_entropy{},
      glia::gradient_accumulation{glia::adam{.learning_rate = ramped_rate(steps)}, batches},
      ranks.share({.seed = s.seed})};
  const auto fit_start = std::chrono::steady_clock::now();
  std::vector<double> ends;  // of the epochs
  const auto note_end = [&](const glia::training&) { ends.push_back(seconds_since(fit_start)); };
  const glia::history history =
      trainer.fit(train, validation,
                  {.epochs = s.epochs,
                   .batch_size = s.batch_size,
                   .callbacks = {glia::on_event(glia::event::epoch_end, note_end)}});
  if (history.interrupted) {
    std::cout << "interrupted; no results were written\n";
    return 130;
  }
  if (ranks.is_first()) {
    conclude(s, net, validation, validation, history, ends, start);
  }
  return 0;
}

int train(const settings& s, const glia::device& device, const run_ranks& ranks) {
  const auto start = std::chrono::steady_clock::now();
  const glia::interrupt_guard interrupt;
  std::filesystem::create_directories(s.output);
  const glia::image_folder folder = folder_of(s);
  const auto [training, held_out] = folder.split(0.2);
  glia::image_dataset_options varied = photo(s);
  if (s.augment) {
    varied.augmentation = {.horizontal_flip = 0.5,
                           .rotation = 15,
                           .zoom = {0.9, 1.1},
                           .shift = 0.05,
                           .saturation = {0.8, 1.2},
                           .brightness = {0.85, 1.15}};
  }
  const glia::image_dataset train(training, varied);
  const glia::image_dataset validation(held_out, photo(s));
  std::cout << train.size() << " photos to train with, " << validation.size() << " held out, "
            << folder.skipped().size() << " left out\n";

  const std::optional<weights> pretrained =
      s.demo ? std::nullopt : std::optional<weights>(std::in_place, s.weights);
  glia::model net{flowers_network(pretrained ? pretrained->features : demo_network(), s.fine_tune,
                                  s.classes.size()),
                  train.input_shape(),
                  device,
                  {.seed = s.seed}};
  if (pretrained) {
    pretrained->load_into(net);
  }
  std::cout << net.summary() << '\n';

  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{s.learning_rate},
                        ranks.share({.seed = s.seed})};
  const auto fit_start = std::chrono::steady_clock::now();
  std::vector<double> ends;  // of the epochs
  // What is frozen runs once for each photo; the demo trains all of its network.
  std::optional<glia::frozen_outputs<glia::image_dataset>> features;
  glia::history history;
  if (net.frozen_output_shape()) {
    glia::frozen_output_options shared = feature_store;
    shared.ranks = ranks.group();
    features = glia::compute_frozen_outputs(net, validation, "validation", shared);
    history.interrupted = !features;
  }
  const auto judged = features ? glia::dataset_view(*features) : glia::dataset_view(validation);
  if (!history.interrupted) {
    const auto note_end = [&](const glia::training&) { ends.push_back(seconds_since(fit_start)); };
    std::vector<glia::callback> callbacks{glia::on_event(glia::event::epoch_end, note_end)};
    if (!s.profile.empty()) {
      callbacks.emplace_back(glia::profiler(s.profile, {.print = &std::cout}));
    }
    history = trainer.fit(train, judged,
                          {.epochs = s.epochs,
                           .batch_size = s.batch_size,
                           .callbacks = callbacks,
                           .frozen_outputs = feature_store});
  }
  if (history.interrupted) {
    std::cout << "interrupted; no results were written\n";
    return 130;
  }
  if (ranks.is_first()) {
    conclude(s, net, judged, validation, history, ends, start);
  }
  return 0;
}

/// Judges the photos that were asked for, and says which cannot be.
template <class Model>
int judge(const settings& s, const Model& net, const std::vector<std::string>& classes) {
  int failures = 0;
  for (const std::string& path : s.predict) {
    try {
      const glia::image_dataset dataset({{path}}, photo(s));
      const xt::xarray<float> p = probabilities_of(glia::predict(net, dataset));
      std::cout << path << ':' << std::fixed << std::setprecision(1);
      for (const std::size_t k : ranking(p, 0)) {
        std::cout << "  " << classes[k] << ' ' << 100 * p(0, k) << " %";
      }
      std::cout << '\n';
    } catch (const glia::data_error& e) {  // the other photos are still of interest
      std::cerr << "flowers: " << e.what() << '\n';
      failures = 1;
    }
  }
  return failures;
}

int predict(const settings& s, const glia::device& device) {
  const std::vector<std::string> classes = read_labels(s.output / "labels.txt");
  const glia::shape sample{s.extent, s.extent, 3};
  if (s.is_xception()) {
    glia::model net{xception_network({.width = s.width()}, classes.size()), sample, device};
    glia::load_parameters(net, glia::read_safetensors(s.output / "model.safetensors"),
                          glia::same_names(net));
    return judge(s, net, classes);
  }
  const weights trained(s.output / "model.safetensors");
  glia::model net{
      flowers_network(s.demo ? demo_network() : trained.features, s.fine_tune, classes.size()),
      sample, device};
  trained.load_into(net);
  return judge(s, net, classes);
}

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Teaches a network to tell five flowers apart"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  auto* const data = app.add_option("--data", s.data, "folder with a folder for each class");
  app.add_option("--model", s.model, "mobilenet_v2, frozen, or xception, all of which is trained")
      ->check(CLI::IsMember({"mobilenet_v2", "xception"}));
  auto* const weights =
      app.add_option("--weights", s.weights,
                     "MobileNetV2's, as safetensors; Xception's, as Keras's .h5 (or none)");
  auto* const classes =
      app.add_option("--classes", s.classes, "names of its folders")->expected(2, 1000);
  app.add_option("--output", s.output, "folder for the results");
  app.add_option("--predict", s.predict,
                 "photos to judge with the model in the output folder (a demonstration's: --demo)");
  auto* const demo =
      app.add_flag("--demo", s.demo, "draw the flowers and train a small network from nothing");
  app.add_option("--epochs", s.epochs, "passes over the photos")->check(at_least_one);
  app.add_option("--batch-size", s.batch_size, "photos per step")->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate, "of Adam; 1e-4 suits fine-tuning")
      ->check(CLI::Validator(positive_float, ""));
  auto* const fine_tune =
      app.add_option("--fine-tune", s.fine_tune, "train the last so many blocks and the head, too")
          ->check(CLI::Range(0, 17));
  demo->excludes(data, weights, classes, fine_tune);
  app.add_flag("--augment", s.augment, "vary the photos; the frozen layers then run every time");
  app.add_flag("--skip-broken", s.skip_broken, "leave out files that cannot be read");
  app.add_option("--profile", s.profile, "folder for where time and memory go, with a trace");
  add_device_options(app, s.device);
  add_rank_options(app, s.ranks);
  app.add_option("--seed", s.seed, "of initial weights, shuffling and dropout");
  CLI11_PARSE(app, argc, argv);

  if (s.is_xception()) {
    s.extent = s.demo ? 64 : 331;
    s.batch_size = app.count("--batch-size") > 0 ? s.batch_size : 16;
    s.weights = app.count("--weights") > 0 ? s.weights : std::filesystem::path();
  } else if (s.demo) {
    s.extent = 96;
    s.fine_tune = glia::mobilenet_v2::stage_count - 1;
    s.learning_rate = app.count("--learning-rate") > 0 ? s.learning_rate : 3e-3;
  }
  if (s.predict.empty() && !s.demo) {
    // Xception can do without weights, and says itself what is wrong with a file of them.
    require_downloads(s.data, s.is_xception() ? s.data : s.weights, s.classes);
  }
  return with_ranks(s.ranks, s.device.threads, [&](const run_ranks& ranks) {
    const glia::device device = make_device(s.device);
    return !s.predict.empty() ? predict(s, device)
           : s.is_xception()  ? train_xception(s, device, ranks)
                              : train(s, device, ranks);
  });
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("flowers", argc, argv, &run);
}
