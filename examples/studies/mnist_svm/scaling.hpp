#pragma once

#include <chrono>
#include <cmath>
#include <glia/glia.hpp>
#include <glia/plot.hpp>
#include <glia/plot/run_program.hpp>
#include <iomanip>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "../../mnist_networks.hpp"
#include "digits.hpp"
#include "settings.hpp"
#include "svm.hpp"

/// What training on some rows took.
struct measurement {
  double rows = 0;
  double seconds = 0;
  double bytes = 0;     ///< more than the program had before
  double accuracy = 0;  ///< on the rows that are held out
};

/// Rows of digits as a data set for a network.
inline glia::image_bytes rows_of(const digits& data, std::span<const std::size_t> rows) {
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;
  for (const std::size_t row : rows) {
    pixels.insert(pixels.end(), data.row(row).begin(), data.row(row).end());
    labels.push_back(data.labels[row]);
  }
  return {{data.width}, std::move(pixels), std::move(labels)};
}

/// Throws where there are too few images that are not held out for one of the sizes, or no sizes.
inline void require_sizes(const settings& s, std::size_t images) {
  const std::size_t limit = images - s.rows / 5;
  for (const std::size_t size : s.sizes) {
    glia::require<glia::value_error>(size > 0 && size <= limit, "expected --sizes of 1 to ", limit,
                                     " rows, got ", size);
  }
}

/// Trains a model on gray images, with the rows of the split and then those behind it, and prints
/// seconds, bytes and accuracy.
inline void measure_one(const settings& s) {
  const digits data = read_csv(s.output / "train.csv", s.rows + s.measured_rows);
  row_split split = split_rows(s.rows, s.seed);
  for (std::size_t row = s.rows; row < data.size(); ++row) {
    split.train.push_back(row);
  }
  split.train.resize(s.measured_rows);
  const auto initial_bytes = static_cast<double>(glia::resident_bytes());
  const auto start = std::chrono::steady_clock::now();
  const auto report = [&](const auto& accuracy) {
    const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start;
    const double bytes = static_cast<double>(glia::peak_resident_bytes()) - initial_bytes;
    std::cout << duration.count() << ' ' << bytes << ' ' << accuracy() << '\n';
  };
  if (s.measure == "svm") {
    const digit_svm trained(data, split.train, gamma_of(s.gammas.front(), data, split.train));
    report([&] { return trained.accuracy(data, split.held_out); });
  } else {
    glia::model net{perceptron(), {data.width}, make_device(s.device), {.seed = s.seed}};
    const glia::softmax_cross_entropy loss;
    glia::trainer trainer{net, loss, glia::adam{1e-3}, {.seed = s.seed}};
    trainer.fit(rows_of(data, split.train),
                {.epochs = s.epochs, .batch_size = 100, .progress = nullptr});
    report([&] { return glia::evaluate(net, rows_of(data, split.held_out), loss)["accuracy"]; });
  }
}

/// Measures a model on each number of rows, in a program of its own: what one training has taken,
/// another one would find there.
inline std::vector<measurement> measure(const std::string& program, const std::string& model,
                                        const settings& s) {
  std::vector<measurement> measurements;
  for (const std::size_t rows : s.sizes) {
    std::vector<std::string> arguments{program,
                                       "--measure",
                                       model,
                                       "--measured-rows",
                                       std::to_string(rows),
                                       "--output",
                                       s.output.string(),
                                       "--rows",
                                       std::to_string(s.rows),
                                       "--gamma",
                                       s.gammas.front(),
                                       "--epochs",
                                       std::to_string(s.epochs),
                                       "--seed",
                                       std::to_string(s.seed)};
    const std::vector<std::string> device_arguments = s.device.arguments();
    arguments.insert(arguments.end(), device_arguments.begin(), device_arguments.end());
    const glia::plot::program_result result = glia::plot::run_program(arguments);
    measurement point{.rows = static_cast<double>(rows)};
    std::istringstream(result.output) >> point.seconds >> point.bytes >> point.accuracy;
    glia::require<glia::data_error>(result.status == 0, "measuring failed: ", result.errors);
    measurements.push_back(point);
  }
  return measurements;
}

/// a n^b, the line of least squares through the logarithms of the values that are not 0.
struct power_law {
  double factor = 0;
  double exponent = 0;

  power_law(const std::vector<measurement>& measurements, double measurement::*quantity) {
    double n = 0;
    double sx = 0;
    double sy = 0;
    double sxx = 0;
    double sxy = 0;
    for (const measurement& m : measurements) {
      if (m.*quantity > 0) {
        const double x = std::log(m.rows);
        const double y = std::log(m.*quantity);
        n += 1;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
      }
    }
    const double spread = n * sxx - sx * sx;
    exponent = spread > 0 ? (n * sxy - sx * sy) / spread : 0;
    factor = n > 0 ? std::exp((sy - exponent * sx) / n) : 0;
  }
  [[nodiscard]] double operator()(double rows) const { return factor * std::pow(rows, exponent); }
};

/// One of a model's measurements against the rows, and the law through them as far as it is
/// extrapolated; both in the palette's color of that number.
inline std::vector<glia::plot::series> curve_of(const std::string& name,
                                                const std::vector<measurement>& measurements,
                                                double measurement::*quantity, double unit,
                                                double farthest, std::size_t color) {
  const power_law law(measurements, quantity);
  glia::plot::series measured{.name = name, .style = glia::plot::marks::points, .color = color};
  glia::plot::series fitted{.name = "",
                            .x = {measurements.front().rows, farthest},
                            .y = {law(measurements.front().rows) / unit, law(farthest) / unit},
                            .style = glia::plot::marks::line,
                            .dashed = true,
                            .color = color};
  for (const measurement& m : measurements) {
    measured.x.push_back(m.rows);
    measured.y.push_back(m.*quantity / unit);
  }
  return {std::move(measured), std::move(fitted)};
}

/// Measures both models, prints a table and what more rows would take, and draws the curves.
inline void compare_scaling(const std::string& program, const settings& s) {
  const std::vector<measurement> svm = measure(program, "svm", s);
  const std::vector<measurement> perceptron = measure(program, "perceptron", s);
  std::cout << "\nTraining on gray images, each in a program of its own: time, memory beyond the "
               "data, accuracy\n      rows       SVM (LIBSVM, one core)         perceptron (all "
               "cores, epochs: "
            << s.epochs << ")\n";
  for (std::size_t i = 0; i < svm.size(); ++i) {
    std::cout << std::fixed << std::setprecision(0) << std::setw(10) << svm[i].rows
              << std::setprecision(2);
    for (const measurement& m : {svm[i], perceptron[i]}) {
      std::cout << std::setw(9) << m.seconds << " s" << std::setw(8) << m.bytes / 1e6 << " MB"
                << std::setw(7) << 100 * m.accuracy << " %";
    }
    std::cout << '\n';
  }
  const auto law = [&](const std::vector<measurement>& measurements,
                       double measurement::*quantity) { return power_law(measurements, quantity); };
  const auto farthest = static_cast<double>(s.extrapolate);
  std::cout << "If time and memory go on growing as powers of the rows n, SVM time n^"
            << law(svm, &measurement::seconds).exponent << ", memory n^"
            << law(svm, &measurement::bytes).exponent << "; perceptron time n^"
            << law(perceptron, &measurement::seconds).exponent << ", memory n^"
            << law(perceptron, &measurement::bytes).exponent << ":\n"
            << std::setprecision(0) << farthest << " rows take the SVM " << std::setprecision(1)
            << law(svm, &measurement::seconds)(farthest) << " s and "
            << law(svm, &measurement::bytes)(farthest) / 1e6 << " MB, the perceptron "
            << law(perceptron, &measurement::seconds)(farthest) << " s and "
            << law(perceptron, &measurement::bytes)(farthest) / 1e6
            << " MB.\nThat is an assumption, not a measurement: it holds while the machine has "
               "the memory and LIBSVM's 200 MB of cache\nsuffice for the rows of two classes (some "
               "35,000 rows of ten).\n";

  std::vector<glia::plot::chart> panels;
  for (const auto& [quantity, unit, label] :
       {std::tuple(&measurement::seconds, 1.0, "seconds of training"),
        std::tuple(&measurement::bytes, 1e6, "MB beyond the data")}) {
    std::vector<glia::plot::series> curves =
        curve_of("support vector machine", svm, quantity, unit, farthest, 0);
    for (glia::plot::series& curve :
         curve_of("perceptron", perceptron, quantity, unit, farthest, 1)) {
      curves.push_back(std::move(curve));
    }
    panels.push_back(glia::plot::curves_chart(curves, {.title = label,
                                                       .x_label = "rows trained with",
                                                       .log_x = true,
                                                       .log_y = true,
                                                       .canvas = {.width = 560, .height = 440}}));
  }
  for (const char* name : {"scaling.svg", "scaling.png"}) {
    glia::plot::panels(s.output / name, panels,
                       {.title = "Measured (points), and extrapolated by power laws (lines)"});
  }
}
