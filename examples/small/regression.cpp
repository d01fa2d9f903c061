// Regression from a CSV table: columns by name, scaled by the training part, a tenth held out.

#include <glia/data/csv.hpp>
#include <glia/glia.hpp>
#include <iomanip>
#include <iostream>
#include <xtensor/xview.hpp>

int main() {
  const glia::csv_table table = glia::read_csv(GLIA_SMALL_DATA "/cars.csv");
  const xt::xarray<float> x = table.columns({"weight_kg", "power_kw", "width_m"});
  const xt::xarray<float> y = table.columns({"litres_per_100km"});

  // Columns with mean 0 and standard deviation 1, by the numbers of the training part only.
  const glia::target_arrays unscaled{x, y};
  const auto [train_part, test_part] = glia::train_test_split(unscaled, {.test_size = 0.1});
  const xt::xarray<float> known = xt::view(x, xt::keep(train_part.samples()), xt::all());
  const xt::xarray<float> mean = xt::mean(known, {0});
  const xt::xarray<float> deviation = xt::sqrt(xt::mean(xt::square(known - mean), {0}));

  const glia::target_arrays cars{(x - mean) / deviation, y};
  const glia::subset train(cars, train_part.samples());
  const glia::subset test(cars, test_part.samples());
  glia::model net{glia::sequential{glia::dense{16, glia::tanh}, glia::dense{1}}, {3}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.01}};
  trainer.fit(train, {.epochs = 200, .batch_size = 20, .progress = nullptr});

  const auto scores = glia::evaluate(net, test, glia::mean_squared_error{},
                                     {.metrics = {glia::r2_score(), glia::rmse()}});
  std::cout << std::fixed << std::setprecision(1) << test.size() << " cars held out: R^2 "
            << scores["r2_score"] << ", off by " << scores["rmse"] << " litres\n";
  const xt::xarray<float> car{{1300, 90, 1.8F}};
  std::cout << "mine takes " << net.predict((car - mean) / deviation)(0, 0) << " litres\n";
}
