// Latency of networks that process audio in real time, on one thread: the time of each block of
// samples, and the real-time factor, which is the duration of a block divided by its median time.
// Prints a table.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <glia/glia.hpp>
#include <glia/models/stream.hpp>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "report.hpp"

namespace {

struct settings {
  double sample_rate = 48'000;
  double seconds = 60;  // of audio for each row
};

glia::conv1d convolution(std::size_t dilation) {
  return {.filters = 16,
          .kernel_size = 3,
          .padding = glia::causal,
          .dilation_rate = dilation,
          .activation = glia::relu};
}

template <class Description>
void print_latency(const std::string& name, const Description& description,
                   const glia::shape& blocks, const settings& s) {
  const glia::model net{description, blocks, glia::cpu<float>({.threads = 1})};
  const std::size_t block = blocks[0];
  const glia::stream stream{net, {.prepared_steps = block}};
  glia::stream_state state = stream.start();
  const auto count =
      static_cast<std::size_t>(s.seconds * s.sample_rate / static_cast<double>(block));
  const std::vector<float> signal = report::normal_numbers(blocks.size() * 1000, 1);
  std::vector<float> output(net.output_shape().size());
  std::vector<double> times(count);  // in microseconds
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = std::span(signal).subspan(i % 1000 * blocks.size(), blocks.size());
    times[i] = 1e6 * report::seconds_of([&] { stream.run(x, output, state); });
  }
  const double median = report::quantile(times, 0.5);
  const double duration = 1e6 * static_cast<double>(block) / s.sample_rate;
  std::cout << "| " << name << " | " << block << " | " << std::fixed << std::setprecision(2)
            << median << " | " << report::quantile(times, 0.9999) << " | "
            << report::quantile(times, 1) << " | " << std::setprecision(0) << duration / median
            << " |\n";
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app{"Measures the latency of networks that process audio in real time"};
  app.add_option("--sample-rate", s.sample_rate);
  app.add_option("--seconds", s.seconds, "of audio for each row");
  CLI11_PARSE(app, argc, argv);

  using glia::dense;
  using glia::sequential;
  using glia::time_distributed;
  const time_distributed output{dense{1}};
  const sequential lstm{glia::lstm{.units = 40, .return_sequences = true}, output};
  const sequential convolutions{convolution(1), convolution(2), convolution(4), convolution(8),
                                output};
  // The network of RTNeural's model_bench.
  const sequential mixed{time_distributed{dense{8, glia::tanh}},
                         glia::conv1d{.filters = 4,
                                      .kernel_size = 3,
                                      .padding = glia::causal,
                                      .dilation_rate = 2,
                                      .activation = glia::tanh},
                         glia::gru{.units = 8, .return_sequences = true}, output};

  std::cout
      << "| network | samples in a block | median, us | 99.99th percentile, us | longest, us | "
         "real-time factor |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const std::size_t block : {std::size_t{64}, std::size_t{1}}) {
    print_latency("LSTM 40, dense 1", lstm, {block, 1}, s);
    print_latency("4 causal convolutions of 16 channels, dense 1", convolutions, {block, 1}, s);
    print_latency("dense 8, causal convolution 4, GRU 8, dense 1", mixed, {block, 1}, s);
    // A layer of RTNeural's layer_bench.
    print_latency("LSTM 16 of 16 inputs", glia::lstm{.units = 16, .return_sequences = true},
                  {block, 16}, s);
  }
  return 0;
}
