#include <glia/models/model_file.hpp>
#include <glia/training/checkpoints.hpp>
#include <glia/training/early_stopping.hpp>

#include "catch.hpp"
#include "damage.hpp"
#include "helpers.hpp"

using glia::checkpoints;
using glia::moment;
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

  glia::history fit(std::size_t epochs, std::vector<glia::observer> observers, bool resume = true,
                    std::uint64_t seed = 1) {
    glia::model net{checkpointed_network(), {2}, glia::cpu<T>({.threads = 1}), {.seed = seed}};
    glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}, {.seed = seed}};
    last = trainer.fit(test::quadrants{45}, test::quadrants{20},
                       {.epochs = epochs,
                        .batch_size = 10,
                        .progress = nullptr,
                        .observers = std::move(observers),
                        .resume = resume});
    state = trainer.state();
    return last;
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] std::vector<std::uint8_t> bytes(const std::string& name) const {
    return test::file_content<std::vector<std::uint8_t>>(folder / name);
  }
};

glia::observer interrupt_at(std::size_t step) {
  return glia::on(moment::step, [step](const glia::training& t) {
    return t.step == step ? glia::interrupt("the test") : glia::go_on();
  });
}

}  // namespace

TEMPLATE_TEST_CASE("a checkpoint is read as it was written, to the bit", "", float, double) {
  checkpointed<TestType> run;
  glia::training_state written;
  std::map<std::string, std::string> identity;
  run.fit(3, {glia::early_stopping{}, glia::on(moment::step, [&](const glia::training& t) {
                if (t.step == 13) {
                  t.scale_rate(0.1);
                  written = t.state();
                  identity = glia::model_identity(t.plan, t.sample);
                }
              })});
  REQUIRE(written.history.size() == 2);
  REQUIRE(written.sums.size() == 3);
  REQUIRE_FALSE(written.kept.empty());
  std::filesystem::create_directories(run.folder);
  const auto path = run.folder / "one.safetensors";
  glia::write_checkpoint(path, written, identity);
  CHECK(glia::read_checkpoint(path, identity) == written);

  // And without all that may be missing.
  written.history.clear();
  written.sums.clear();
  written.kept.clear();
  written.metrics.clear();
  glia::write_checkpoint(path, written, identity);
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
  CHECK(contains(run.last.notes.at(0), "going on from "));
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
  std::vector<std::string> seen;
  const auto look = glia::on(moment::epoch_begins, [&](const glia::training& t) {
    // The one of the epoch before may still be on its way.
    seen.push_back(glia::text(t.epoch, ':', run.files().size()));
  });
  run.fit(6, {checkpoints(run.folder, {.keep_last = 2, .best = "validation_accuracy"}), look});
  CHECK(seen[0] == "1:1");
  CHECK(run.files() == std::vector<std::string>{"best.safetensors", "step-000000025.safetensors",
                                                "step-000000030.safetensors"});
  // The best one is the model of that epoch.
  const auto best = glia::best_of(run.last, "validation_accuracy");
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
  CHECK(contains(run.last.notes[0], "passed over: "));
  CHECK(contains(run.last.notes[0], "by its checksum; the file is damaged"));
  CHECK(contains(run.last.notes[1], "step-000000008.safetensors"));
  CHECK(contains(run.last.notes[2], "step-000000007.safetensors"));
  CHECK(run.state.tensors == whole.state.tensors);
  CHECK(run.files().size() == 3);

  for (const std::string& name : run.files()) {
    std::filesystem::resize_file(run.folder / name, 10);
  }
  CHECK(contains(message_of<glia::data_error>([&] { run.fit(3, {keep}); }),
                 "none of its 3 checkpoints can be read"));
  CHECK(run.files().size() == 3);
}

TEST_CASE("checkpoints that are damaged do not stand in for those that are kept") {
  checkpointed<> whole;
  whole.fit(3, {});
  checkpointed<> run;
  run.fit(3, {checkpoints(run.folder, {.every_steps = 1, .keep_last = 2}), interrupt_at(9)});
  std::filesystem::resize_file(run.folder / "step-000000009.safetensors", 1000);
  // It goes on from step 8, and is ended before it comes to the damaged one.
  const checkpoints one(run.folder, {.every_epoch = false, .keep_last = 1});
  run.fit(3, {one, glia::on(moment::begins,
                            [](const glia::training&) { return glia::interrupt("the test"); })});
  CHECK(run.files() ==
        std::vector<std::string>{"step-000000008.safetensors", "step-000000009.safetensors"});
  run.fit(3, {one});
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
                 "holds the checkpoints of a training already; go on with it by"));
  glia::model other{glia::dense{4}, {2}};
  glia::trainer trainer{other, glia::softmax_cross_entropy{}, glia::adam{}};
  const auto error = message_of<glia::data_error>([&] {
    trainer.fit(test::quadrants{45}, {.progress = nullptr, .observers = {keep}, .resume = true});
  });
  CHECK(contains(error, "is of another network (layers)"));
  // The same network, but another optimizer.
  glia::model same{checkpointed_network(), {2}};
  glia::trainer slower{same, glia::softmax_cross_entropy{}, glia::sgd{}};
  CHECK_THROWS_AS(
      slower.fit(test::quadrants{45}, {.progress = nullptr, .observers = {keep}, .resume = true}),
      glia::value_error);
  CHECK(run.files() == files);
  // A model's file is no checkpoint.
  glia::save(same, run.folder / "step-000000099.safetensors");
  CHECK(contains(message_of<glia::data_error>([&] { run.fit(2, {keep}); }), "it is no checkpoint"));
}

TEST_CASE("a folder that cannot be written to shows before the first step") {
  checkpointed<> run;
  std::ofstream(run.folder) << "a file";
  std::size_t steps = 0;
  const auto count = glia::on(moment::step, [&](const glia::training&) { ++steps; });
  CHECK(contains(message_of<glia::data_error>([&] {
                   run.fit(1, {checkpoints(run.folder), count});
                 }),
                 "checkpoints need a folder to be written to"));
  CHECK_THROWS_AS(run.fit(1, {checkpoints("/proc/none/run"), count}), glia::data_error);
  CHECK_THROWS_AS(run.fit(1, {checkpoints("/proc", {.best = "f1"}), count}), glia::value_error);
  CHECK(steps == 0);
  CHECK_THROWS_AS(checkpoints("x", {.keep_last = 0}), glia::value_error);
}

TEST_CASE("damaged copies of a checkpoint are refused, or are what was written") {
  checkpointed<> run;
  run.fit(2,
          {checkpoints(run.folder, {.every_steps = 1}), glia::early_stopping{}, interrupt_at(8)});
  glia::model net{checkpointed_network(), {2}};
  const auto identity = glia::model_identity(net.plan(), net.sample_shape());
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
  glia::training_state state{.tensors = {}, .metrics = {"f1", std::string(256, 'x')}};
  glia::write_checkpoint(path, state, identity);
  CHECK(glia::read_checkpoint(path, identity) == state);
  // Each score of each epoch has the name: one of a megabyte would be thousands.
  glia::safetensors_content content = glia::read_checked_content(path);
  content.metadata["metrics"] += "x\n" + std::string(257, 'y');
  glia::write_checked_content(path, content);
  const std::string expected =
      path.string() + ": the name of a metric has 257 bytes, expected at most 256";
  CHECK(message_of<glia::data_error>([&] { (void)glia::read_checkpoint(path, identity); }) ==
        expected);
  state.metrics[0] = std::string(257, 'y');
  CHECK(message_of<glia::data_error>([&] { glia::write_checkpoint(path, state, identity); }) ==
        expected);
}
