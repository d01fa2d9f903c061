#include <glia/training/history_csv.hpp>
#include <glia/training/read_history_csv.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

std::string failure_of(const std::string& csv) {
  const test::temporary_folder folder;
  folder.write("history.csv", {csv.begin(), csv.end()});
  return test::message_of<glia::data_error>(
      [&] { (void)glia::read_history_csv(folder.path() / "history.csv"); });
}

const std::string csv_header = "epoch,seconds,samples_per_second,learning_rate,loss,accuracy";

}  // namespace

TEST_CASE("a history that was written is read back") {
  const test::temporary_folder folder;
  const auto path = folder.path() / "history.csv";
  glia::history training;
  training.metrics = {glia::accuracy(), glia::mae()};
  for (std::size_t number = 1; number <= 3; ++number) {
    glia::epoch_record e;
    e.epoch = number;
    e.samples = 60000;
    e.seconds = 1.19;
    e.samples_per_second = 60000 / 1.19;
    e.learning_rate = 0.001;
    e.training = {1.25, {0.75, std::numeric_limits<double>::quiet_NaN()}};
    if (number < 3) {  // the last one was interrupted
      e.validation = glia::scores{std::numeric_limits<double>::infinity(), {-0.5, 1e-30}};
    }
    training.epochs.push_back(e);
  }
  for (const bool validated : {true, false}) {
    if (!validated) {
      for (glia::epoch_record& e : training.epochs) {
        e.validation.reset();
      }
    }
    glia::write_history_csv(path, training);
    const glia::history read = glia::read_history_csv(path);
    REQUIRE(read.epochs.size() == 3);
    REQUIRE(read.metrics.size() == 2);
    CHECK(read.metrics[1].name == "mae");
    CHECK(read.epochs[1].epoch == 2);
    CHECK(read.epochs[1].samples == 60000);
    CHECK(read.epochs[1].seconds == 1.19);
    CHECK(read.epochs[1].samples_per_second == 60000 / 1.19);
    CHECK(read.epochs[1].learning_rate == 0.001);
    CHECK(read.training("accuracy") == std::vector<double>{0.75, 0.75, 0.75});
    CHECK(std::isnan(read.training("mae")[0]));
    CHECK(read.validation("loss") ==
          (validated ? std::vector<double>{INFINITY, INFINITY} : std::vector<double>{}));
    if (validated) {
      CHECK(read.validation("mae") == std::vector<double>{1e-30, 1e-30});
    }
  }
}

TEST_CASE("what is no history is refused with its line") {
  CHECK(test::contains(failure_of(""),
                       "history.csv: expected the columns of write_history_csv, epoch,seconds"));
  CHECK(test::contains(failure_of("label,pixel0\n"), "got 'label,pixel0'"));
  CHECK(test::contains(failure_of(csv_header + "\n1,2,3,4,5\n"),
                       "line 2 has 5 values, but the header has 6 columns"));
  CHECK(test::contains(failure_of(csv_header + "\n1,2,3,4,5,6\n2,2,3,4,5,six\n"),
                       "line 3: expected a number, got 'six'"));
  CHECK(test::contains(failure_of(csv_header + "\n1,2,3,4,5,6x\n"), "got '6x'"));
  CHECK(test::contains(failure_of(csv_header + "\n-1,2,3,4,5,6\n"), "expected an epoch number"));
  CHECK(failure_of(csv_header + "\r\n1,2,3,4,5,6\r\n").empty());
  CHECK(test::contains(test::message_of<glia::data_error>(
                           [] { (void)glia::read_history_csv("/nowhere/history.csv"); }),
                       "/nowhere/history.csv: cannot be read"));
}
