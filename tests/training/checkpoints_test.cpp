#include <array>
#include <fstream>
#include <glia/models/model_file.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/early_stopping.hpp>
#include <glia/training/fit_setup.hpp>
#include <glia/training/terminate_on_nan.hpp>
#include <limits>
#include <map>
#include <optional>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"
#include "posix.hpp"

using glia::checkpoints;
using glia::event;
using test::contains;
using test::message_of;

namespace {

auto checkpointed_network() {
  return glia::sequential{glia::dense{6, glia::tanh}, glia::batch_norm{}, glia::dropout{0.3},
                          glia::dense{4}};
}

/// A training of its own for each call of fit, as after the end of a program.
template <class T = float>
struct checkpointed {
  test::temporary_folder scratch;
  std::filesystem::path folder = scratch.path() / "run";
  glia::history last = {};
  glia::training_state state = {};

  glia::history fit(std::size_t epochs, std::vector<glia::callback> callbacks, bool resume = true,
                    std::uint64_t seed = 1) {
    glia::model net{checkpointed_network(), {2}, glia::cpu<T>({.threads = 1}), {.seed = seed}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}, {.seed = seed}};
    last = trainer.fit(test::quadrants{45}, test::quadrants{20},
                       {.epochs = epochs,
                        .batch_size = 10,
                        .progress = nullptr,
                        .callbacks = std::move(callbacks),
                        .resume = resume});
    state = trainer.state();
    return last;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().filename() != ".glia-lock") {
        names.push_back(entry.path().filename().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) const {
    return test::file_content<std::vector<std::uint8_t>>(folder / name);
  }
};

glia::callback interrupt_at(std::size_t step) {
  return glia::on_event(event::train_batch_end, [step](const glia::training& t) {
    return t.step == step ? glia::interrupt_training("the test") : glia::keep_training();
  });
}

}  // namespace

TEMPLATE_TEST_CASE("a checkpoint is read as it was written, to the bit", "", float, double) {
  checkpointed<TestType> run;
  glia::training_state written;
  std::map<std::string, std::string> identity;
  run.fit(3, {glia::early_stopping{},
              glia::on_event(event::train_batch_end, [&](const glia::training& t) {
                if (t.step == 13) {
                  t.scale_learning_rate(0.1);
                  written = t.state();
                  identity = glia::detail::model_identity(t.plan, t.sample_shape);
                }
              })});
  REQUIRE(written.history.size() == 2);
  REQUIRE(written.sums.size() == 3);
  REQUIRE_FALSE(written.callback_state.empty());
  std::filesystem::create_directories(run.folder);
  const auto path = run.folder / "one.safetensors";
  glia::detail::write_checkpoint(path, written, identity);
  CHECK(glia::read_checkpoint(path, identity) == written);

  // And without all that may be missing.
  written.history.clear();
  written.sums.clear();
  written.callback_state.clear();
  written.metrics.clear();
  glia::detail::write_checkpoint(path, written, identity);
  CHECK(glia::read_checkpoint(path, identity) == written);
}

TEST_CASE("a training that is run again goes on from its newest checkpoint") {
  checkpointed<> whole;
  whole.fit(4, {});
  checkpointed<> run;
  const checkpoints keep(run.folder, {.every_steps = 1});
  CHECK(run.fit(4, {keep, interrupt_at(7)}).interrupted);
  CHECK(run.files() == std::vector<std::string>{"step-000000005.safetensors",
                                                "step-000000006.safetensors",
                                                "step-000000007.safetensors"});
  // Another initial model: all of it comes from the checkpoint, the seed as well.
  CHECK(run.fit(4, {keep, interrupt_at(10)}, true, 5).interrupted);
  CHECK(contains(run.last.notes.at(0), "resumed from "));
  CHECK(contains(run.last.notes.at(0), "step-000000007.safetensors"));
  CHECK(run.fit(4, {keep}, true, 6).epochs.size() == 4);
  CHECK(run.state.tensors == whole.state.tensors);
  CHECK(run.state.seed == 1);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(run.last.epochs[i].training == whole.last.epochs[i].training);
    CHECK(run.last.epochs[i].validation == whole.last.epochs[i].validation);
  }
}

TEST_CASE("checkpoints are written when they are asked for, and the last few and the best stay") {
  checkpointed<> run;
  std::vector<std::string> file_counts;
  const auto look = glia::on_event(event::epoch_begin, [&](const glia::training& t) {
    // The one of the epoch before may still be on its way.
    file_counts.push_back(glia::text(t.epoch, ':', run.files().size()));
  });
  run.fit(6, {checkpoints(run.folder, {.keep_last = 2, .monitor = "validation_accuracy"}), look});
  CHECK(file_counts[0] == "1:1");
  CHECK(run.files() == std::vector<std::string>{"best.safetensors", "step-000000025.safetensors",
                                                "step-000000030.safetensors"});
  // The best one is the model of that epoch.
  const auto best = glia::detail::best_of(run.last, "validation_accuracy");
  glia::model net{checkpointed_network(), {2}};
  glia::load(net, run.folder / "best.safetensors");
  CHECK(glia::evaluate(net, test::quadrants{20}, glia::softmax_cross_entropy{})["accuracy"] ==
        best.score);

  checkpointed<> by_time;
  by_time.fit(1, {checkpoints(by_time.folder, {.every_seconds = 1e-9, .every_epoch = false})});
  CHECK(by_time.files().size() == 3);
  checkpointed<> rarely;
  rarely.fit(2, {checkpoints(rarely.folder, {.every_seconds = 1e9, .every_epoch = false})});
  CHECK(rarely.files() ==
        std::vector<std::string>{"step-000000000.safetensors", "step-000000010.safetensors"});
}

TEST_CASE("a damaged checkpoint is passed over for the one before it") {
  checkpointed<> whole;
  whole.fit(3, {});
  checkpointed<> run;
  const checkpoints keep(run.folder, {.every_steps = 1});
  run.fit(3, {keep, interrupt_at(9)});
  auto bytes = run.bytes("step-000000009.safetensors");
  bytes[bytes.size() - 20] ^= 4;
  const test::temporary_folder elsewhere;
  std::ofstream(run.folder / "step-000000009.safetensors", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::filesystem::resize_file(run.folder / "step-000000008.safetensors", 1000);
  std::ofstream(run.folder / ".glia-part-1-2") << "half";
  run.fit(3, {keep});
  REQUIRE(run.last.notes.size() == 3);
  CHECK(contains(run.last.notes[0], "skipped: "));
  CHECK(contains(run.last.notes[0], "do not match the checksum; the file is damaged"));
  CHECK(contains(run.last.notes[1], "step-000000008.safetensors"));
  CHECK(contains(run.last.notes[2], "step-000000007.safetensors"));
  CHECK(run.state.tensors == whole.state.tensors);
  CHECK(run.files().size() == 3);

  for (const std::string& name : run.files()) {
    std::filesystem::resize_file(run.folder / name, 10);
  }
  CHECK(contains(message_of<glia::data_error>([&] { run.fit(3, {keep}); }),
                 "none of the 3 checkpoints in the folder can be read"));
  CHECK(run.files().size() == 3);
}

TEST_CASE("checkpoints that are damaged do not stand in for those that are kept") {
  checkpointed<> whole;
  whole.fit(3, {});
  checkpointed<> run;
  run.fit(3, {checkpoints(run.folder, {.every_steps = 1, .keep_last = 2}), interrupt_at(9)});
  std::filesystem::resize_file(run.folder / "step-000000009.safetensors", 1000);
  // It goes on from step 8, and is ended before it comes to the damaged one.
  const checkpoints keep(run.folder, {.every_epoch = false, .keep_last = 1});
  run.fit(3, {keep, glia::on_event(event::train_begin, [](const glia::training&) {
                return glia::interrupt_training("the test");
              })});
  CHECK(run.files() ==
        std::vector<std::string>{"step-000000008.safetensors", "step-000000009.safetensors"});
  run.fit(3, {keep});
  CHECK(contains(run.last.notes.at(1), "step-000000008.safetensors"));
  CHECK(run.files() == std::vector<std::string>{"step-000000015.safetensors"});
  CHECK(run.state.tensors == whole.state.tensors);
}

TEST_CASE("checkpoints are not mixed up with those of another training") {
  checkpointed<> run;
  const checkpoints keep(run.folder);
  run.fit(1, {keep});
  const auto files = run.files();
  CHECK(contains(message_of<glia::data_error>([&] { run.fit(2, {keep}, false); }),
                 "the folder already contains the checkpoints of a training; resume it with"));
  glia::model other{glia::dense{4}, {2}};
  glia::trainer trainer{other, glia::softmax_cross_entropy{}, glia::adam{}};
  const auto error = message_of<glia::data_error>([&] {
    trainer.fit(test::quadrants{45}, {.progress = nullptr, .callbacks = {keep}, .resume = true});
  });
  CHECK(contains(error, "the file belongs to another network (layers)"));
  // The same network, but another optimizer.
  glia::model same{checkpointed_network(), {2}};
  glia::trainer slower{same, glia::softmax_cross_entropy{}, glia::sgd{}};
  CHECK_THROWS_AS(
      slower.fit(test::quadrants{45}, {.progress = nullptr, .callbacks = {keep}, .resume = true}),
      glia::value_error);
  CHECK(run.files() == files);
  // A model's file is no checkpoint.
  glia::save(same, run.folder / "step-000000099.safetensors");
  CHECK(contains(message_of<glia::data_error>([&] { run.fit(2, {keep}); }),
                 "the file is not a checkpoint"));
}

TEST_CASE("a folder that cannot be written to shows before the first step") {
  checkpointed<> run;
  std::ofstream(run.folder) << "a file";
  std::size_t steps = 0;
  const auto count =
      glia::on_event(event::train_batch_end, [&](const glia::training&) { ++steps; });
  CHECK(contains(message_of<glia::data_error>([&] {
                   run.fit(1, {checkpoints(run.folder), count});
                 }),
                 "the folder for checkpoints cannot be created"));
  CHECK_THROWS_AS(run.fit(1, {checkpoints("/proc/none/run"), count}), glia::data_error);
  CHECK_THROWS_AS(run.fit(1, {checkpoints("/proc", {.monitor = "f1_score"}), count}),
                  glia::value_error);
  CHECK(steps == 0);
  CHECK_THROWS_AS(checkpoints("x", {.keep_last = 0}), glia::value_error);
}

TEST_CASE("damaged copies of a checkpoint are refused, or are what was written") {
  checkpointed<> run;
  run.fit(2,
          {checkpoints(run.folder, {.every_steps = 1}), glia::early_stopping{}, interrupt_at(8)});
  glia::model net{checkpointed_network(), {2}};
  const auto identity = glia::detail::model_identity(net.plan(), net.sample_shape());
  const auto path = run.folder / "step-000000008.safetensors";
  const auto written = glia::read_checkpoint(path, identity);
  const auto whole = run.bytes("step-000000008.safetensors");
  // Half of it in the header, which says most.
  const std::size_t read = test::damaged_copies_read(
      {whole},
      [&](const auto& copy) {
        std::filesystem::remove(path);  // writing over it would wait for the disk
        std::ofstream(path, std::ios::binary)
            .write(reinterpret_cast<const char*>(copy.data()),
                   static_cast<std::streamsize>(copy.size()));
        const bool same = glia::read_checkpoint(path, identity) == written;
        REQUIRE(same);
      },
      4000);
  CHECK(read < 20);
}

TEST_CASE("the names of metrics in a checkpoint are short") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "state.safetensors";
  const std::map<std::string, std::string> identity{
      {"description", "d"}, {"sample", "s"}, {"layers", "l"}, {"fingerprint", "f:"}};
  glia::training_state state{.tensors = {}, .metrics = {"f1_score", std::string(256, 'x')}};
  glia::detail::write_checkpoint(path, state, identity);
  CHECK(glia::read_checkpoint(path, identity) == state);
  // Each score of each epoch has the name: one of a megabyte would be thousands.
  glia::safetensors_content content = glia::detail::read_checked_content(path);
  content.metadata["metrics"] += "x\n" + std::string(257, 'y');
  glia::detail::write_checked_content(path, content);
  const std::string expected =
      path.string() + ": expected names of metrics of at most 256 bytes, got one of 257";
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_checkpoint(path, identity); }) ==
        expected);
  state.metrics[0] = std::string(257, 'y');
  CHECK(message_of<glia::data_error>(
            [&] { glia::detail::write_checkpoint(path, state, identity); }) == expected);
}

namespace {

/// A training with any optimizer, gone on with from a folder.
template <class Optimizer>
glia::history fit_with(const Optimizer& rule, const std::filesystem::path& folder,
                       std::size_t epochs, std::size_t batch_size = 10) {
  glia::model net{checkpointed_network(), {2}, glia::cpu<float>({.threads = 1})};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, rule};
  return trainer.fit(test::quadrants{45}, {.epochs = epochs,
                                           .batch_size = batch_size,
                                           .progress = nullptr,
                                           .callbacks = {checkpoints(folder)},
                                           .resume = true});
}

}  // namespace

TEST_CASE("a training is not gone on with by an optimizer that keeps other numbers") {
  const test::temporary_folder scratch;
  const auto refused = [&](const auto& first, const auto& second) {
    const auto folder = scratch.path() / "refused";
    std::filesystem::remove_all(folder);
    fit_with(first, folder, 1);
    return message_of<glia::value_error>([&] { fit_with(second, folder, 2); });
  };
  const glia::sgd momentum{.learning_rate = 0.05, .momentum = 0.9};
  CHECK(contains(
      refused(glia::adam{0.01}, glia::rmsprop{.learning_rate = 0.01, .momentum = 0.9}),
      "the training cannot resume from it: trainer: the state is of adam, but the optimizer of "
      "this training is rmsprop, whose state differs; resume with the same optimizer"));
  CHECK(contains(refused(momentum, glia::adagrad{0.01}),
                 "the state is of sgd, but the optimizer of this training"));
  CHECK(contains(refused(glia::adagrad{0.01}, momentum), "the state is of adagrad"));
  CHECK(contains(refused(glia::gradient_accumulation{momentum, 2}, glia::adam{}),
                 "the state is of accumulated(sgd, 2 batches), but"));
  CHECK(contains(
      refused(glia::gradient_accumulation{momentum, 2}, glia::gradient_accumulation{momentum, 3}),
      "this training is accumulated(sgd, 3 batches), whose"));

  // Rates are the new ones, and adamw keeps what adam keeps.
  const auto folder = scratch.path() / "taken";
  fit_with(glia::adam{0.01}, folder, 1);
  const glia::history other = fit_with(glia::adamw{0.002}, folder, 2);
  CHECK(other.epochs.size() == 2);
  CHECK(other.notes.at(1) ==
        "the training is resumed with changes, so its result differs from that of an uninterrupted "
        "training: the optimizer is adamw(0.002, weight decay 0.01), it was adam(0.01)");
}

TEST_CASE("the advice for a checkpoint in the middle of an epoch of other batches works") {
  checkpointed<> run;
  run.fit(3, {checkpoints(run.folder), interrupt_at(7)});
  const glia::adam rule{0.02};
  const auto other_batches = [&] { fit_with(rule, run.folder, 3, 15); };
  CHECK(contains(message_of<glia::value_error>(other_batches),
                 "which end it with .epochs = 2, and change them then; or begin a new epoch with "
                 ".resume = false, which, with checkpoints, needs another folder and "
                 "glia::load(net, checkpoint)"));

  glia::model net{checkpointed_network(), {2}};
  glia::load(net, checkpoints::newest_first(run.folder).at(0));
  CHECK(net.get("dense_0.kernel")(0, 0) == std::get<0>(run.state.tensors.at(0).values).at(0));
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, rule};
  const auto begin_in = [&](const std::filesystem::path& folder) {
    trainer.fit(test::quadrants{45},
                {.batch_size = 15, .progress = nullptr, .callbacks = {checkpoints(folder)}});
  };
  CHECK_THROWS_AS(begin_in(run.folder), glia::data_error);
  CHECK_NOTHROW(begin_in(run.scratch.path() / "other"));

  CHECK(fit_with(rule, run.folder, 2).epochs.size() == 2);
  CHECK(fit_with(rule, run.folder, 3, 15).epochs.size() == 3);
}

TEST_CASE("what has changed since a training was interrupted is noted") {
  const test::temporary_folder scratch;
  CHECK(fit_with(glia::adam{0.01}, scratch.path(), 1).notes.empty());
  CHECK(fit_with(glia::adam{0.01}, scratch.path(), 2).notes.size() == 1);  // resumed from ...
  const glia::history larger = fit_with(glia::adam{0.01}, scratch.path(), 3, 15);
  REQUIRE(larger.notes.size() == 2);
  CHECK(contains(larger.notes[1], "training: the batch size is 15, it was 10"));
  const glia::history finished = fit_with(glia::adam{0.01}, scratch.path(), 2, 15);
  REQUIRE(finished.notes.size() == 2);
  CHECK(finished.notes[1] == "nothing is left to do: 3 of 2 epochs are done");
}

TEST_CASE("each setting that has changed since a training was interrupted is noted") {
  const auto fit = [](const auto& network, const auto& loss, const auto& data,
                      const glia::schedule& rate, const glia::trainer_options& trainer_options,
                      bool shuffle, const glia::training_state* earlier) {
    glia::model net{network, {2}};
    glia::trainer trainer{net, loss, glia::adam{rate}, trainer_options};
    if (earlier != nullptr) {
      trainer.restore(*earlier);
    }
    const glia::history h = trainer.fit(data, {.epochs = earlier == nullptr ? 1U : 2U,
                                               .shuffle = shuffle,
                                               .metrics = std::vector<glia::metric>{},
                                               .progress = nullptr,
                                               .resume = earlier != nullptr});
    return std::pair(trainer.state(), h.notes);
  };
  const glia::mean_squared_error squares;
  const auto network = glia::sequential{glia::dense{4, glia::relu}, glia::dense{4}};
  const glia::target_arrays data{xt::ones<float>({6, 2}), xt::ones<float>({6, 4})};
  const glia::training_state first = fit(network, squares, data, 0.1, {}, true, nullptr).first;
  const auto changes = [&](const auto& resumed_network, const auto& loss, const auto& resumed_data,
                           const glia::schedule& rate,
                           const glia::trainer_options& trainer_options = {}, bool shuffle = true) {
    const std::vector<std::string> notes =
        fit(resumed_network, loss, resumed_data, rate, trainer_options, shuffle, &first).second;
    const std::string beginning =
        "the training is resumed with changes, so its result differs from that of an uninterrupted "
        "training: ";
    REQUIRE(notes.size() < 2);
    return notes.empty() ? "" : notes[0].substr(notes[0].find(beginning) + beginning.size());
  };
  CHECK(changes(network, squares, data, 0.1).empty());
  CHECK(changes(network, glia::mean_absolute_error{}, data, 0.1) ==
        "the loss is mean_absolute_error, it was mean_squared_error");
  CHECK(changes(network, squares, data, glia::cosine_decay(0.1, 9)) ==
        "the optimizer is adam(cosine_decay(0.1 to 0 in 9 steps)), it was adam(0.1)");
  const glia::target_arrays larger{xt::ones<float>({8, 2}), xt::ones<float>({8, 4})};
  CHECK(changes(network, squares, larger, 0.1) == "the number of samples is 8, it was 6");
  CHECK(changes(network, squares, data, 0.1, {}, false) ==
        "the order of the samples is that of the data set, it was shuffled");
  CHECK(changes(network, squares, data, 0.1,
                {.gradient_transforms = {glia::clip_by_value(2), glia::clip_by_global_norm(3)},
                 .parameter_groups = {{.path = "dense_0.", .rate_factor = 0.5, .l1 = 0.1},
                                      {.path = "", .frozen = true}}}) ==
        "the list of gradient transforms is clip_by_value(2), clip_by_global_norm(3), it was none; "
        "the list of parameter groups is dense_0.: rate factor 0.5, l1 0.1; *: frozen, it was "
        "none");
  const std::string other_network =
      changes(glia::sequential{glia::dense{4, glia::tanh}, glia::dense{4}}, squares, data, 0.1);
  CHECK(contains(other_network, "the network is "));
  CHECK(contains(other_network, "dense(4, tanh)"));
  CHECK(contains(other_network, "it was "));
}

TEST_CASE("a training continues without notes where the text of its settings is of version 0.4") {
  checkpointed<> run;
  run.fit(1, {checkpoints(run.folder)});
  glia::training_state old = run.state;
  old.setup = "softmax_cross_entropy, adam(0.2), shuffled batches of 7 of 9 samples";
  CHECK(glia::detail::setup_changes(old.setup, run.state.setup).empty());
  CHECK(glia::detail::setup_changes("", run.state.setup).empty());
  CHECK(glia::detail::setup_changes(run.state.setup, run.state.setup).empty());
  // A setting that one of the versions does not know is not a change.
  CHECK(glia::detail::setup_changes("settings\nthe loss is a\nthe moon is full\n",
                                    "settings\nthe tide is low\nthe loss is b\n") ==
        "the loss is b, it was a");
}

TEST_CASE("a checkpoint of an older version, which does not name the optimizer, is gone on with") {
  checkpointed<> whole;
  whole.fit(3, {});
  checkpointed<> run;
  std::map<std::string, std::string> identity;
  run.fit(1, {checkpoints(run.folder, {.keep_last = 1}),
              glia::on_event(event::train_end, [&](const glia::training& t) {
                identity = glia::detail::model_identity(t.plan, t.sample_shape);
              })});
  const auto path = run.folder / run.files().at(0);
  auto content = glia::detail::read_checked_content(path);
  CHECK(content.metadata.erase("optimizer") == 1);
  CHECK(content.metadata.erase("setup") == 1);
  glia::detail::write_checked_content(path, std::move(content));
  CHECK(glia::read_checkpoint(path, identity).optimizer.empty());
  run.fit(3, {checkpoints(run.folder)});
  CHECK(run.state.tensors == whole.state.tensors);
  CHECK(run.state.optimizer == "adam");
}

namespace {

/// A training whose rate explodes at one step, so that parameters become infinite there.
struct exploding {
  test::temporary_folder scratch;
  std::filesystem::path folder = scratch.path() / "run";
  std::vector<float> parameters = {};

  glia::history fit(std::size_t bad_step, glia::checkpoint_options options, bool stops = true) {
    const xt::xarray<float> x = xt::ones<float>({8, 1});
    const xt::xarray<float> y = 100.0F * xt::ones<float>({8, 1});
    glia::model net{
        glia::sequential{glia::dense{4}, glia::dense{1}}, {1}, glia::cpu<float>({.threads = 1})};
    const glia::schedule rate("explodes",
                              [=](std::size_t step) { return step + 1 == bad_step ? 3e38 : 1e-4; });
    glia::trainer trainer{net, glia::mean_squared_error{}, glia::sgd{.learning_rate = rate}};
    std::vector<glia::callback> callbacks{checkpoints{folder, options}};
    if (stops) {
      callbacks.emplace_back(glia::terminate_on_nan{});
    }
    glia::history result = trainer.fit(glia::target_arrays{x, y}, {.epochs = 4,
                                                                   .batch_size = 2,
                                                                   .shuffle = false,
                                                                   .progress = nullptr,
                                                                   .callbacks = callbacks,
                                                                   .resume = true});
    parameters = test::parameters_of(net);
    return result;
  }
  [[nodiscard]] bool all_finite() const {
    for (const auto& path : checkpoints::newest_first(folder)) {
      const auto content = glia::detail::read_checked_content(path);
      for (const auto& tensor : content.tensors) {
        if (!tensor.name.starts_with("glia/") && !glia::detail::all_finite(tensor)) {
          return false;
        }
      }
    }
    return true;
  }
};

}  // namespace

TEST_CASE("a checkpoint that is not finite is neither written nor gone on with") {
  exploding right;
  right.fit(0, {});
  for (const std::size_t interval : {0U, 1U, 3U}) {
    for (const bool stops : {true, false}) {
      for (const std::size_t bad_step : {4U, 8U, 10U}) {
        INFO("every " << interval << " steps, step " << bad_step << ", stops " << stops);
        exploding run;
        const glia::checkpoint_options options{.every_steps = interval, .keep_last = 100};
        const glia::history stopped = run.fit(bad_step, options, stops);
        CHECK(stopped.stop_reason.empty() != stops);
        CHECK(run.all_finite());
        // Once the cause is gone, it goes on as if nothing had been.
        const glia::history rest = run.fit(0, options);
        CHECK(rest.stop_reason.empty());
        CHECK(rest.epochs.size() == 4);
        CHECK(run.parameters == right.parameters);
      }
    }
  }
}

TEST_CASE("checkpoints that are not finite, as others may have written them, are passed over") {
  exploding right;
  right.fit(0, {});
  exploding run;
  run.fit(0, {.keep_last = 100});
  const auto spoil = [&](const std::filesystem::path& path) {
    auto content = glia::detail::read_checked_content(path);
    for (auto& tensor : content.tensors) {
      if (tensor.name == "dense_1.kernel") {
        std::get<std::vector<float>>(tensor.values)[2] = std::numeric_limits<float>::infinity();
      }
    }
    glia::detail::write_checked_content(path, std::move(content));
  };
  const auto paths = checkpoints::newest_first(run.folder);
  spoil(paths.at(0));
  spoil(paths.at(1));
  const glia::history rest = run.fit(0, {.keep_last = 100});
  CHECK(contains(rest.notes.at(0), "skipped: " + paths[0].string() + ": 'dense_1.kernel' is not"));
  CHECK(contains(rest.notes.at(2), "resumed from " + paths[2].string()));
  CHECK(run.parameters == right.parameters);
  CHECK(run.all_finite());
}

TEST_CASE("one training at a time writes to a folder, and others' files stay") {
  checkpointed<> run;
  checkpointed<> other;
  other.folder = run.folder;
  std::string message;
  std::size_t steps = 0;
  run.fit(1, {checkpoints(run.folder),
              glia::on_event(event::train_batch_end, [&](const glia::training& t) {
                if (t.step == 2) {
                  message = message_of<glia::data_error>(
                      [&] { other.fit(1, {checkpoints(run.folder)}); });
                  for (const auto& name : run.files()) {
                    steps += name.starts_with("step-") ? 1 : 0;
                  }
                }
              })});
  CHECK(contains(message, "another running training writes its checkpoints to this folder; wait"));
  CHECK(steps == 1);
  CHECK(other.fit(1, {checkpoints(run.folder)}).epochs.size() == 1);  // once it is over
  CHECK(std::filesystem::exists(run.folder / ".glia-lock"));

  // A file that is being written there by somebody else stays as well.
  glia::write_whole_file(run.folder / "mine.txt", [&](std::ostream& out) {
    out << "half";
    other.fit(2, {checkpoints(run.folder)});
    out << ", and whole";
  });
  CHECK(test::file_content<std::string>(run.folder / "mine.txt") == "half, and whole");
}

TEST_CASE("a child process neither ends the lock of a folder nor holds it any longer") {
#if GLIA_TEST_HAS_POSIX
  const test::temporary_folder scratch;
  const auto is_locked = [&] {
    try {
      const glia::detail::folder_lock attempt(scratch.path());
      return false;
    } catch (const glia::data_error&) {
      return true;
    }
  };
  std::optional<glia::detail::folder_lock> lock(std::in_place, scratch.path());
  const pid_t first = fork();
  if (first == 0) {
    lock.reset();
    _exit(0);
  }
  CHECK(waitpid(first, nullptr, 0) == first);
  CHECK(is_locked());

  std::array<int, 2> channel{};
  REQUIRE(pipe(channel.data()) == 0);
  const pid_t second = fork();
  if (second == 0) {
    close(channel[1]);
    char end = 0;
    _exit(read(channel[0], &end, 1) == 0 ? 0 : 1);  // once the parent is done
  }
  lock.reset();
  CHECK_FALSE(is_locked());
  close(channel[1]);
  close(channel[0]);
  CHECK(waitpid(second, nullptr, 0) == second);
#else
  GLIA_SKIP("this system has no fork");
#endif
}

TEST_CASE("the best checkpoint of another training is not replaced") {
  checkpointed<> run;
  const checkpoints keep(run.folder, {.monitor = "loss"});
  run.fit(1, {keep});
  for (const auto& path : checkpoints::newest_first(run.folder)) {
    std::filesystem::remove(path);
  }
  const auto original = run.bytes("best.safetensors");
  for (const bool resume : {true, false}) {
    CHECK(contains(message_of<glia::data_error>([&] { run.fit(1, {keep}, resume, 9); }),
                   "the folder contains the best.safetensors of another training"));
  }
  CHECK(run.bytes("best.safetensors") == original);
}

TEST_CASE("a training that early stopping has ended says so again, whenever it is run") {
  for (const std::size_t epochs : {2U, 3U, 5U}) {
    checkpointed<> run;
    const glia::early_stopping never{.monitor = "loss", .patience = 1, .min_delta = 100};
    run.fit(epochs, {never, checkpoints(run.folder)});
    const std::string reason = run.last.stop_reason;
    const auto tensors = run.state.tensors;
    CHECK(contains(reason, "no better loss than"));
    run.fit(epochs, {never, checkpoints(run.folder)});
    CHECK(run.last.stop_reason == reason);
    CHECK(run.last.epochs.size() == 2);
    CHECK(run.state.tensors == tensors);
  }
}
