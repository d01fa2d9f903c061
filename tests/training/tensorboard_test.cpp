#include <bit>
#include <cmath>
#include <glia/training/reduce_lr_on_plateau.hpp>
#include <glia/training/tensorboard.hpp>
#include <limits>
#include <map>
#include <numeric>

#include "catch.hpp"
#include "helpers.hpp"
#include "posix.hpp"
#include "run_python.hpp"

using glia::event;
using test::contains;
using test::message_of;

namespace {

std::uint64_t little_endian(const std::string& bytes, std::size_t offset, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes.at(offset + i))} << (8 * i);
  }
  return word;
}

/// The records of a TFRecord file, whose checks must hold.
std::vector<std::string> records_of(const std::string& file) {
  const auto holds = [](const std::string& bytes, std::uint64_t check) {
    const std::uint32_t sum = glia::detail::crc32c(bytes);
    return check == static_cast<std::uint32_t>(std::rotr(sum, 15) + 0xA282EAD8U);
  };
  std::vector<std::string> records;
  for (std::size_t position = 0; position < file.size();) {
    const std::uint64_t length = little_endian(file, position, 8);
    REQUIRE(holds(file.substr(position, 8), little_endian(file, position + 8, 4)));
    records.push_back(file.substr(position + 12, length));
    REQUIRE(holds(records.back(), little_endian(file, position + 12 + length, 4)));
    position += 16 + length;
  }
  return records;
}

/// The fields of a protobuf message: the bytes of their values by number, in their order.
std::multimap<unsigned, std::string> fields_of(const std::string& message) {
  std::multimap<unsigned, std::string> fields;
  std::size_t position = 0;
  const auto varint = [&] {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(position++));
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) {
        return value;
      }
    }
  };
  while (position < message.size()) {
    const std::uint64_t key = varint();
    std::string value;
    if ((key & 7U) == 0) {
      const std::uint64_t number = varint();
      for (unsigned i = 0; i < 8; ++i) {
        value += static_cast<char>(number >> (8 * i));
      }
    } else {
      const std::size_t length = (key & 7U) == 1 ? 8 : (key & 7U) == 5 ? 4 : varint();
      REQUIRE(length <= message.size() - position);
      value = message.substr(position, length);
      position += length;
    }
    fields.emplace(static_cast<unsigned>(key >> 3U), value);
  }
  return fields;
}

std::string field(const std::string& message, unsigned number) {
  const auto fields = fields_of(message);
  const auto found = fields.find(number);
  return found == fields.end() ? "" : found->second;
}

double double_at(const std::string& bytes, std::size_t i = 0) {
  return std::bit_cast<double>(little_endian(bytes, 8 * i, 8));
}
std::vector<double> doubles(const std::string& bytes) {
  std::vector<double> values;
  for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
    values.push_back(double_at(bytes, i));
  }
  return values;
}

/// What an event file says.
struct told {
  std::vector<std::string> versions;
  std::vector<std::uint64_t> begins;                                     ///< of sessions
  std::map<std::string, std::map<std::uint64_t, float>> scalars;         ///< by tag and step
  std::map<std::string, std::map<std::uint64_t, std::string>> messages;  ///< of histograms
};

told told_by(const std::string& file) {
  told result;
  for (const std::string& event : records_of(file)) {
    CHECK(double_at(field(event, 1)) > 1.7e9);  // seconds since 1970
    const auto step = field(event, 2).empty() ? 0 : little_endian(field(event, 2), 0, 8);
    if (!field(event, 3).empty()) {
      result.versions.push_back(field(event, 3));
    }
    if (!field(event, 7).empty()) {
      CHECK(little_endian(field(field(event, 7), 1), 0, 8) == 1);
      result.begins.push_back(step);
    }
    for (const auto& [number, value] : fields_of(field(event, 5))) {
      const std::string tag = field(value, 1);
      if (const std::string histogram = field(value, 5); !histogram.empty()) {
        result.messages[tag][step] = histogram;
      } else {
        const auto bits = static_cast<std::uint32_t>(little_endian(field(value, 2), 0, 4));
        CHECK(!result.scalars[tag].contains(step));
        result.scalars[tag][step] = std::bit_cast<float>(bits);
      }
    }
  }
  return result;
}

struct event_scratch {
  test::temporary_folder scratch;
  std::filesystem::path folder = scratch.path() / "logs" / "run";

  /// In the order of their names.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<std::string> contents;
    for (const auto& path : paths) {
      CHECK(path.filename().string().starts_with("events.out.tfevents."));
      contents.push_back(test::file_content(path));
    }
    return contents;
  }
};

/// Trains in three steps an epoch.
struct logged : event_scratch {
  glia::model<decltype(
      glia::sequential{glia::dense{8, glia::tanh}, glia::batch_norm{}, glia::dense{4}})>
      net{glia::sequential{glia::dense{8, glia::tanh}, glia::batch_norm{}, glia::dense{4}}, {2}};
  glia::trainer<decltype(net), glia::softmax_cross_entropy, glia::sgd> trainer{net, {}, {0.1}};

  glia::history fit(std::size_t epochs, std::vector<glia::callback> callbacks,
                    bool resume = false) {
    return trainer.fit(test::quadrants{25}, test::quadrants{5},
                       {.epochs = epochs,
                        .batch_size = 10,
                        .progress = nullptr,
                        .callbacks = std::move(callbacks),
                        .resume = resume});
  }
};

}  // namespace

TEST_CASE("CRC32C is that of RFC 3720") {
  CHECK(glia::detail::crc32c(std::string(32, '\0')) == 0x8A9136AA);
  CHECK(glia::detail::crc32c(std::string(32, '\xFF')) == 0x62A8AB43);
  std::string rising;
  for (char c = 0; c < 32; ++c) {
    rising += c;
  }
  CHECK(glia::detail::crc32c(rising) == 0x46DD794E);
  CHECK(glia::detail::crc32c(std::string(rising.rbegin(), rising.rend())) == 0x113FDB5C);
  CHECK(glia::detail::crc32c("") == 0);
}

TEST_CASE("an event file holds what it was given, after each record") {
  const event_scratch scratch;
  glia::detail::event_file file(scratch.folder);
  CHECK(told_by(scratch.files().at(0)).versions == std::vector<std::string>{"brain.Event:2"});
  file.begin_at(7);
  glia::detail::event_summary summary;
  summary.add("a", 0.5);
  summary.add("b", 1e300);
  summary.add("c", -INFINITY);
  summary.add("\xC3\xA4", NAN);
  file.add(300, summary);
  const told t = told_by(scratch.files().at(0));
  CHECK(t.begins == std::vector<std::uint64_t>{7});
  CHECK(t.scalars.at("a").at(300) == 0.5F);
  CHECK(t.scalars.at("b").at(300) == INFINITY);
  CHECK(t.scalars.at("c").at(300) == -INFINITY);
  CHECK(std::isnan(t.scalars.at("\xC3\xA4").at(300)));
  glia::detail::event_summary last;
  last.add("a", 0.25);
  file.add(std::size_t{1} << 40U, last);
  CHECK(told_by(scratch.files().at(0)).scalars.at("a").at(std::uint64_t{1} << 40U) == 0.25F);
}

TEST_CASE("a histogram counts finite values in buckets of one width") {
  const auto h =
      glia::detail::histogram_of(std::vector<float>{0, 1, 2, 4, 4, NAN, INFINITY, -INFINITY}, 4);
  CHECK(h.min == 0);
  CHECK(h.max == 4);
  CHECK(h.count == 5);
  CHECK(h.sum == 11);
  CHECK(h.sum_of_squares == 37);
  CHECK(h.limits == std::vector<double>{1, 2, 3, 4});
  CHECK(h.buckets == std::vector<double>{2, 1, 0, 2});

  const auto same = glia::detail::histogram_of(std::vector<double>{3, 3, 3}, 30);
  CHECK(same.limits == std::vector<double>{3});
  CHECK(same.buckets == std::vector<double>{3});
  const auto empty = glia::detail::histogram_of(std::vector<double>{NAN}, 30);
  CHECK(empty.count == 0);
  CHECK(empty.limits.empty());

  // Neither the difference of the largest doubles is one, nor half of the smallest.
  constexpr double maximum = std::numeric_limits<double>::max();
  constexpr double minimum = std::numeric_limits<double>::denorm_min();
  CHECK(glia::detail::histogram_of(std::vector<double>{-maximum, 0, maximum}, 2).buckets ==
        std::vector<double>{2, 1});
  for (const double extent : {minimum, 3 * minimum}) {
    const auto tiny = glia::detail::histogram_of(std::vector<double>{0, extent}, 5);
    CHECK(std::is_sorted(tiny.limits.begin(), tiny.limits.end()));
    CHECK(std::accumulate(tiny.buckets.begin(), tiny.buckets.end(), 0.0) == 2);
  }
}

TEST_CASE("tensorboard is told of each epoch, with the parameters' histograms") {
  logged run;
  const auto h = run.fit(2, {glia::tensorboard{run.folder, {.histogram_buckets = 3}}});
  REQUIRE(run.files().size() == 1);
  const told t = told_by(run.files()[0]);
  CHECK(t.begins == std::vector<std::uint64_t>{1});
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    const glia::epoch_record& e = h.epochs[epoch];
    const std::uint64_t step = 3 * (epoch + 1);
    CHECK(t.scalars.at("loss").at(step) == static_cast<float>(e.training.loss));
    CHECK(t.scalars.at("accuracy").at(step) == static_cast<float>(e.training["accuracy"]));
    CHECK(t.scalars.at("validation_loss").at(step) == static_cast<float>(e.validation->loss));
    CHECK(t.scalars.at("validation_accuracy").at(step) ==
          static_cast<float>((*e.validation)["accuracy"]));
    CHECK(t.scalars.at("learning_rate").at(step) == 0.1F);
    CHECK(t.scalars.at("samples_per_second").at(step) == static_cast<float>(e.samples_per_second));
  }
  CHECK(t.scalars.size() == 6);

  // Kernels, biases, scale and shift; not the running statistics.
  CHECK(t.messages.size() == 6);
  const std::string written = t.messages.at("parameters/dense_0.kernel").at(6);
  const auto kernel = run.net.get<double>("dense_0.kernel");
  const auto expected = glia::detail::histogram_of(kernel, 3);
  CHECK(double_at(field(written, 1)) == expected.min);
  CHECK(double_at(field(written, 2)) == expected.max);
  CHECK(double_at(field(written, 3)) == 16);
  CHECK(double_at(field(written, 4)) == expected.sum);
  CHECK(double_at(field(written, 5)) == expected.sum_of_squares);
  CHECK(doubles(field(written, 6)) == expected.limits);
  CHECK(doubles(field(written, 7)) == expected.buckets);
}

TEST_CASE("what tensorboard is told can be chosen") {
  logged run;
  std::map<std::uint64_t, float> losses;
  const auto note_loss = glia::on_event(event::train_batch_end, [&](const glia::training& t) {
    losses[t.step] = static_cast<float>(t.loss());
  });
  run.fit(2, {note_loss,
              glia::tensorboard{run.folder, {.loss_every_steps = 2, .histogram_every_epochs = 2}}});
  const told t = told_by(run.files().at(0));
  CHECK(t.scalars.at("running_loss") ==
        std::map<std::uint64_t, float>{{2, losses[2]}, {4, losses[4]}, {6, losses[6]}});
  CHECK(t.messages.at("parameters/dense_0.bias").size() == 1);
  CHECK(t.messages.at("parameters/dense_0.bias").contains(6));

  logged bare;
  bare.fit(1, {glia::tensorboard{bare.folder, {.histogram_every_epochs = 0}}});
  CHECK(told_by(bare.files().at(0)).messages.empty());
  CHECK(contains(message_of<glia::value_error>([&] {
                   glia::tensorboard{bare.folder, {.histogram_buckets = 0}};
                 }),
                 "histogram_buckets of at least 1"));
}

TEST_CASE("parameters that are not finite are counted, and break no event file") {
  logged run;
  run.net.set("dense_1.bias", xt::xarray<float>{NAN, 1, -INFINITY, 2});
  run.fit(1, {glia::tensorboard{run.folder}});
  const told t = told_by(run.files().at(0));
  // A NaN among the logits makes each gradient one.
  CHECK(t.scalars.at("not_finite/dense_1.bias").at(3) == 4);
  CHECK(t.scalars.at("not_finite/dense_0.kernel").at(3) == 16);
  CHECK(!t.messages.contains("parameters/dense_1.bias"));
  CHECK(std::isnan(t.scalars.at("loss").at(3)));
}

TEST_CASE("a training that is gone on with has a file of its own in tensorboard's folder") {
  logged run;
  const glia::tensorboard logger{run.folder};
  const auto interrupted = glia::on_event(event::train_batch_end, [](const glia::training& t) {
    return t.step == 5 ? glia::interrupt_training("the test") : glia::keep_training();
  });
  run.fit(3, {logger, interrupted});
  run.fit(3, {logger}, true);
  const std::vector<std::string> files = run.files();
  REQUIRE(files.size() == 2);
  const told first = told_by(files[0]);
  const told second = told_by(files[1]);
  CHECK(first.begins == std::vector<std::uint64_t>{1});
  CHECK(second.begins == std::vector<std::uint64_t>{6});
  CHECK(first.scalars.at("loss").size() == 1);
  CHECK(first.scalars.at("loss").contains(3));
  CHECK(second.scalars.at("loss").size() == 2);
  CHECK(second.scalars.at("loss").contains(6));
  CHECK(second.scalars.at("loss").contains(9));
}

TEST_CASE(
    "a folder that tensorboard's callback cannot write to is an error before the first step") {
  logged run;
  run.scratch.write("file", {1});
  const std::filesystem::path folder = run.scratch.path() / "file" / "run";
  const std::string message =
      message_of<glia::data_error>([&] { run.fit(1, {glia::tensorboard{folder}}); });
  CHECK(contains(message, folder.string() +
                              ": the folder for event files cannot be created (Not a directory)"));
  CHECK(run.trainer.step_count() == 0);
#if GLIA_TEST_HAS_POSIX
  // A folder that takes no files, also of root's.
  CHECK(contains(message_of<glia::data_error>([] { glia::detail::event_file("/proc/self"); }),
                 "/proc/self/events.out.tfevents."));
#endif
}

TEST_CASE("TensorBoard reads what was written for it, without the steps that were taken again") {
  const auto python = test::python_with("tensorboard");
  if (!python) {
    GLIA_SKIP(test::no_python_with("tensorboard"));
  }
  logged run;
  const auto options = glia::tensorboard_options{.loss_every_steps = 1, .histogram_buckets = 2};
  run.fit(1, {glia::tensorboard{run.folder, options}});
  const glia::training_state early = run.trainer.state();
  run.fit(1, {glia::tensorboard{run.folder, options}});
  run.trainer.restore(early);
  run.net.set("dense_1.bias", xt::xarray<float>{-1, 0, 0, 3});
  const auto h = run.fit(2, {glia::tensorboard{run.folder, options}}, true);

  const glia::plot::program_result read =
      test::run_python(*python, "read_events.py", {run.folder.string()});
  INFO(read.errors);
  REQUIRE(read.status == 0);
  const auto shown = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%.9g", static_cast<double>(static_cast<float>(value)));
    return std::string(digits);
  };
  CHECK(contains('\n' + read.output, "\nloss 3 " + shown(h.epochs[0].training.loss) + "\nloss 6 " +
                                         shown(h.epochs[1].training.loss) + '\n'));
  CHECK(contains(read.output,
                 "validation_accuracy 6 " + shown((*h.epochs[1].validation)["accuracy"]) + '\n'));
  const auto written = glia::detail::histogram_of(run.net.get<float>("dense_1.bias"), 2);
  CHECK(contains(read.output, "parameters/dense_1.bias 6 " + shown(written.min) + ' ' +
                                  shown(written.limits[0]) + ' ' + shown(written.buckets[0]) + ' ' +
                                  shown(written.limits[0]) + ' ' + shown(written.max) + ' ' +
                                  shown(written.buckets[1]) + '\n'));
  for (const char* step : {"1", "2", "3", "4", "5", "6"}) {
    const std::string line = std::string("running_loss ") + step + ' ';
    const std::size_t position = read.output.find(line);
    CHECK(position != std::string::npos);
    CHECK(read.output.find(line, position + 1) == std::string::npos);
  }
}
