// Measures how time and memory of training grow, and says what billions of images would take.
//
//     examples/run scaling --model cnn
//     examples/run scaling --sizes 5000 10000 20000 30000 --validate 60000
//
// Trains a network on MNIST with growing batches and with growing numbers of images, each time in a
// program of its own, and puts lines through the times and the peak memory by least squares. Prints
// them with intervals of 95 % confidence, and by them how long, how much memory and how much money
// 60 billion images to train with and 10 billion to predict take: on this machine, on several, and
// on the devices of a table (devices.csv beside this file, or --devices), with all that is assumed.
// --validate predicts a larger training from the lines and measures it afterwards.
//
// The output folder gets measurements.csv, estimates.csv, and scaling.svg and .png: what was
// measured, and the lines.

#include <glia/compression/gzip.hpp>
#include <glia/data/mnist.hpp>

#include "../../program.hpp"
#include "charts.hpp"
#include "estimate.hpp"
#include "measurements.hpp"
#include "training.hpp"
#include "validation.hpp"

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Says what training with billions of images would take"};
  add_options(app, s);
  CLI11_PARSE(app, argc, argv);
  if (s.measure) {
    measure_here(s);
    return 0;
  }
  s.fill_in();
  (void)read_devices(s.devices);  // what is wrong with them is said before anything is measured
  std::filesystem::create_directories(s.output);
  auto images = glia::load_mnist(s.data, glia::gzip_files{}).train;
  images.keep_first(std::max(s.sizes.back(), s.validate));
  write_images(s.output / "images.bin", images);

  std::cout << "Measuring " << s.model << ", " << s.repetitions << " times each: batches of up to "
            << s.batches.back() << " with " << s.sizes.back() << " images, then up to "
            << s.sizes.back() << " images in batches of " << s.batch_size << std::endl;
  const measurements measured = measure_all(argv[0], s);
  const fits laws(measured);
  print_laws(laws);
  const std::vector<measurement> checked = validate(argv[0], s, laws);

  const image_flops flops = count_flops(s.model);
  const std::vector<answer> estimates = answers(s, laws, flops);
  print_memory(s, laws, estimates.front());
  print_answers(s, estimates);
  print_assumptions(s, flops);

  write_csv(s.output / "measurements.csv", measured);
  write_csv(s.output / "estimates.csv", s, estimates);
  draw(s.output, "Training " + s.model + ": what was measured, and lines of least squares",
       measured, checked, laws);
  std::filesystem::remove(s.output / "images.bin");
  std::cout << "\nresults are in " << s.output.string() << '\n';
  return 0;
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("scaling", argc, argv, &run);
}
