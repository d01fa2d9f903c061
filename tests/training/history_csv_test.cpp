#include <glia/training/history_csv.hpp>

#include "catch.hpp"
#include "helpers.hpp"

namespace {

std::string written(const glia::history& training) {
  const test::temporary_folder folder;
  const auto path = folder.path() / "history.csv";
  glia::write_history_csv(path, training);
  return test::file_content(path);
}

glia::epoch_record epoch(std::size_t number, bool validated) {
  glia::epoch_record e;
  e.epoch = number;
  e.seconds = 0.5;
  e.samples_per_second = 2000;
  e.learning_rate = 0.001;
  e.training = {1.25, {0.75}};
  if (validated) {
    e.validation = glia::scores{2.5, {0.625}};
  }
  return e;
}

}  // namespace

TEST_CASE("a history becomes a row for each epoch") {
  glia::history training;
  training.metrics = {glia::accuracy()};
  CHECK(written(training) == "epoch,seconds,samples_per_second,learning_rate,loss,accuracy\n");
  training.epochs = {epoch(1, false)};
  CHECK(written(training) ==
        "epoch,seconds,samples_per_second,learning_rate,loss,accuracy\n"
        "1,0.5,2000,0.001,1.25,0.75\n");
  // The second epoch was interrupted before its validation.
  training.epochs = {epoch(1, true), epoch(2, false)};
  CHECK(written(training) ==
        "epoch,seconds,samples_per_second,learning_rate,loss,accuracy,"
        "validation_loss,validation_accuracy\n"
        "1,0.5,2000,0.001,1.25,0.75,2.5,0.625\n"
        "2,0.5,2000,0.001,1.25,0.75,,\n");
}

TEST_CASE("a history that cannot be written is an error that names the file") {
  CHECK(test::contains(test::message_of<glia::data_error>(
                           [] { glia::write_history_csv("/nowhere/history.csv", {}); }),
                       "/nowhere/history.csv: cannot be written"));
}
