// A number from a table of comma-separated values: columns by name, scaled, a tenth held out.

#include <glia/data/csv.hpp>
#include <glia/glia.hpp>
#include <iomanip>
#include <iostream>

int main() {
  const glia::csv_table table = glia::read_csv(GLIA_SMALL_DATA "/cars.csv");
  const xt::xarray<float> x = table.columns({"weight_kg", "power_kw", "width_m"});
  const xt::xarray<float> y = table.columns({"litres_per_100km"});

  // Columns of mean 0 and deviation 1, or the largest numbers would drown the others.
  const xt::xarray<float> mean = xt::mean(x, {0});
  const xt::xarray<float> deviation = xt::sqrt(xt::mean(xt::square(x - mean), {0}));

  const glia::valued_arrays cars{(x - mean) / deviation, y};
  const auto [train, test] = glia::split(cars, {.share = 0.1});
  glia::model net{glia::sequential{glia::dense{16, glia::tanh}, glia::dense{1}}, {3}};
  glia::trainer trainer{net, glia::mean_squared_error{}, glia::adam{0.01}};
  trainer.fit(train, {.epochs = 200, .batch_size = 20, .progress = nullptr});

  const auto scores = glia::evaluate(net, test, glia::mean_squared_error{},
                                     {.metrics = {glia::r_squared(), glia::rmse()}});
  std::cout << std::fixed << std::setprecision(1) << test.size() << " cars held out: R^2 "
            << scores["r_squared"] << ", off by " << scores["rmse"] << " litres\n";
  const xt::xarray<float> mine{{1300, 90, 1.8F}};
  std::cout << "mine takes " << net.predict((mine - mean) / deviation)(0, 0) << " litres\n";
}
