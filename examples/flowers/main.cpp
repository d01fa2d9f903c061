// Teaches MobileNetV2, trained on ImageNet, to tell five flowers apart, in half a minute on a CPU.
//
//     examples/run flowers --data PHOTOS --weights mobilenet_v2.safetensors
//     examples/run flowers --data PETS --classes cat dog
//     examples/run flowers --predict photo.jpg another.jpg
//     examples/run flowers --demo
//
// The network's features are frozen and computed once for each photo; what is trained is one layer
// on top (dropout 0.4, Adam at 1e-3, batches of 32, 12 epochs; a fifth of the photos held out).
// README.md says where photos and weights come from; --demo needs neither: it draws flowers and
// trains a small network from nothing. The output folder gets
// labels.txt, model.safetensors, history and confusion matrix as text and as pictures, charts and a
// grid of judged photos.

#include <CLI/CLI.hpp>
#include <chrono>
#include <glia/training/confusion.hpp>
#include <glia/training/history_csv.hpp>
#include <glia/training/interrupt.hpp>
#include <glia/training/profiler.hpp>
#include <iomanip>
#include <optional>

#include "../device.hpp"
#include "network.hpp"
#include "photos.hpp"
#include "report.hpp"

struct settings {
  std::filesystem::path data = GLIA_EXAMPLE_DATA "/flowers";
  std::filesystem::path weights = GLIA_EXAMPLE_DATA "/mobilenet_v2/mobilenet_v2.safetensors";
  std::filesystem::path output = "flowers_results";
  std::filesystem::path profile;  // folder; empty: none
  std::vector<std::string> classes{"daisy", "dandelion", "rose", "sunflower", "tulip"};
  std::vector<std::string> predict;
  bool demo = false, skip_broken = false, augment = false;
  std::size_t epochs = 12, batch_size = 32, fine_tune = 0, extent = 224;
  device_choice where;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;
};

glia::image_dataset_options photo(const settings& s) {
  return {.height = s.extent,
          .width = s.extent,
          .seed = s.seed,
          .mean = glia::imagenet_mean,
          .std = glia::imagenet_std,
          .threads = s.where.threads};
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

template <class Device>
int train(const settings& s, const Device& device) {
  const auto start = std::chrono::steady_clock::now();
  const glia::interrupt_guard interrupt;
  std::filesystem::create_directories(s.output);
  const glia::image_folder folder =
      photos_of(s.demo ? draw_flowers(s.output / "demo", s.classes, 60, s.extent) : s.data,
                {.classes = s.classes, .skip_broken = s.skip_broken, .threads = s.where.threads});
  const auto [training, held_out] = folder.split(0.2);
  glia::image_dataset_options varied = photo(s);
  if (s.augment) {
    varied.augment = {.horizontal_flip = 0.5,
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

  const std::optional<weights> from =
      s.demo ? std::nullopt : std::optional<weights>(std::in_place, s.weights);
  glia::model net{
      flowers_network(from ? from->features : demo_network(), s.fine_tune, s.classes.size()),
      train.input_shape(),
      device,
      {.seed = s.seed}};
  if (from) {
    from->load_into(net);
  }
  std::cout << net.summary() << '\n';

  glia::trainer trainer{
      net, glia::softmax_cross_entropy{}, glia::adam{s.learning_rate}, {.seed = s.seed}};
  const auto fit_start = std::chrono::steady_clock::now();
  std::vector<double> ends;  // of the epochs
  // What is frozen runs once for each photo; the demo trains all of its network.
  std::optional<glia::frozen_outputs<glia::image_dataset>> kept;
  glia::history history;
  if (net.frozen_output_shape()) {
    kept = glia::compute_frozen_outputs(net, validation, "validation", feature_store);
    history.interrupted = !kept;
  }
  const auto judged = kept ? glia::dataset_view(*kept) : glia::dataset_view(validation);
  if (!history.interrupted) {
    const auto note_end = [&](const glia::training&) { ends.push_back(seconds_since(fit_start)); };
    std::vector<glia::observer> observers{glia::on(glia::moment::epoch, note_end)};
    if (!s.profile.empty()) {
      observers.emplace_back(glia::profiler(s.profile, {.print = &std::cout}));
    }
    history = trainer.fit(train, judged,
                          {.epochs = s.epochs,
                           .batch_size = s.batch_size,
                           .observers = observers,
                           .frozen = feature_store});
  }
  if (history.interrupted) {
    std::cout << "interrupted; no results were written\n";
    return 130;
  }

  const xt::xarray<float> probabilities = probabilities_of(glia::predict(net, judged));
  const glia::confusion_matrix confusion(probabilities, labels_of(held_out));
  std::cout << '\n' << confusion.table(s.classes) << '\n';
  // Last of the two comes what --predict reads first: it stands for both.
  std::filesystem::remove(s.output / "labels.txt");
  glia::write_safetensors(s.output / "model.safetensors", glia::parameters_of(net));
  write_results(s, history, confusion, ends);
  write_grid(s.output / "validation.png", validation, probabilities, s.classes);
  std::cout << std::fixed << std::setprecision(2) << "validation accuracy "
            << 100 * confusion.accuracy() << " %, " << ends.back() << " s for " << ends.size()
            << " epochs, " << seconds_since(start) << " s in all, peak memory "
            << glia::scaled(static_cast<double>(glia::peak_resident_bytes()), "B")
            << "; results are in " << s.output.string() << '\n';
  return 0;
}

template <class Device>
int predict(const settings& s, const Device& device) {
  const std::vector<std::string> classes = read_labels(s.output / "labels.txt");
  const weights trained(s.output / "model.safetensors");
  glia::model net{
      flowers_network(s.demo ? demo_network() : trained.features, s.fine_tune, classes.size()),
      {s.extent, s.extent, 3},
      device};
  trained.load_into(net);
  int failures = 0;
  for (const std::string& path : s.predict) {
    try {
      const glia::image_dataset one({{path}}, photo(s));
      const xt::xarray<float> p = probabilities_of(glia::predict(net, one));
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

int main(int argc, char** argv) try {
  settings s;
  CLI::App app{"Teaches MobileNetV2 to tell five flowers apart"};
  app.option_defaults()->always_capture_default();
  const auto at_least_one = CLI::Range(1, 1'000'000);
  auto* const data = app.add_option("--data", s.data, "folder with a folder for each class");
  auto* const weights = app.add_option("--weights", s.weights, "MobileNetV2's, as safetensors");
  auto* const classes =
      app.add_option("--classes", s.classes, "names of its folders")->expected(2, 1000);
  app.add_option("--output", s.output, "folder for the results");
  app.add_option("--predict", s.predict,
                 "photos to judge with the model in the output folder (a demonstration's: --demo)");
  auto* const demo =
      app.add_flag("--demo", s.demo, "draw the flowers and train a small network from nothing");
  app.add_option("--epochs", s.epochs, "passes over the photos")->check(at_least_one);
  app.add_option("--batch-size", s.batch_size, "photos per step")->check(at_least_one);
  app.add_option("--learning-rate", s.learning_rate, "of Adam; 1e-4 suits fine-tuning");
  auto* const fine_tune =
      app.add_option("--fine-tune", s.fine_tune, "train the last so many blocks and the head, too")
          ->check(CLI::Range(0, 17));
  demo->excludes(data, weights, classes, fine_tune);
  app.add_flag("--augment", s.augment, "vary the photos; the frozen layers then run every time");
  app.add_flag("--skip-broken", s.skip_broken, "leave out files that cannot be read");
  app.add_option("--profile", s.profile, "folder for where time and memory go, with a trace");
  add_device_options(app, s.where);
  app.add_option("--seed", s.seed, "of initial weights, shuffling and dropout");
  CLI11_PARSE(app, argc, argv);

  if (s.demo) {
    s.extent = 96;
    s.fine_tune = glia::mobilenet_v2::stage_count - 1;
    s.learning_rate = app.count("--learning-rate") > 0 ? s.learning_rate : 3e-3;
  }
  if (s.predict.empty() && !s.demo) {
    require_downloads(s.data, s.weights, s.classes);
  }
  return on_device(s.where, [&](const auto& device) {
    return s.predict.empty() ? train(s, device) : predict(s, device);
  });
} catch (const std::exception& e) {
  std::cerr << "flowers: " << e.what() << '\n';
  return 1;
}
