// Regression from a CSV table: columns by name, a tenth held out, scaled by the training part.

#include <glia/data/csv.hpp>
#include <glia/glia.hpp>
#include <iomanip>
#include <iostream>

int main() {
  const glia::csv_table table = glia::read_csv(GLIA_SMALL_DATA "/cars.csv");
  const glia::target_arrays cars =
      table.with_targets({"litres_per_100km"}, {.inputs = {"weight_kg", "power_kw", "width_m"}});
  const auto [train, test] = glia::train_test_split(cars, {.test_size = 0.1});

  glia::model net{
      glia::sequential{glia::standardize{}, glia::dense{16, glia::tanh}, glia::dense{1}}, {3}};
  glia::adapt(net, train);  // means and standard deviations of the training part
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.01}};
  trainer.fit(train, {.epochs = 200, .batch_size = 20, .progress = nullptr});

  const auto scores = glia::evaluate(net, test, glia::mean_squared_error{},
                                     {.metrics = {glia::r2_score(), glia::rmse()}});
  std::cout << std::fixed << std::setprecision(1) << test.size() << " cars held out: R^2 "
            << scores["r2_score"] << ", off by " << scores["rmse"] << " litres\n";
  const xt::xarray<float> car{{1300, 90, 1.8F}};
  std::cout << "mine takes " << net.predict(car)(0, 0) << " litres\n";
}
