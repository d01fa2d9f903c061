// Predicts with any network in an ONNX file.
//
//     examples/run predict net.onnx photo.jpg another.png
//     examples/run predict net.onnx --csv samples.csv --batch 32
//     examples/run predict net.onnx --stdin < lines
//     examples/run predict net.onnx --summary
//     examples/run predict net.onnx photos/*.jpg --profile
//     examples/run predict net.onnx photos/*.jpg --compare other.onnx
//
// Prints the likeliest classes of each sample with their probabilities, or the outputs themselves.
// Names of classes and what is done to pictures come from the file's metadata (see
// glia::model_info), or from --classes, --mean, --std and --crop. Pictures go in with their
// channels first or last, whichever the network takes.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <glia/glia.hpp>
#include <glia/onnx.hpp>
#include <glia/training/profile.hpp>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <optional>

#include "../../program.hpp"
#include "samples.hpp"

struct settings {
  std::filesystem::path network, csv, classes, compare;
  std::vector<std::string> pictures, outputs;
  std::vector<float> mean, std;
  bool from_stdin = false, header = false, summary = false, crop = false, raw = false,
       profile = false;
  std::size_t batch = 1, top = 3, threads = 0;
};

using clock_type = std::chrono::steady_clock;

double milliseconds_since(clock_type::time_point start) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - start).count();
}

/// A network made ready for batches of one size.
class network {
 public:
  network(const std::filesystem::path& path, const settings& s)
      : file_(open(path, s)), net_(file_, glia::cpu({.threads = s.threads})), batch_(s.batch) {}

  [[nodiscard]] const auto& model() const { return net_; }
  [[nodiscard]] const glia::onnx_model& file() const { return file_; }
  [[nodiscard]] std::size_t outputs() const { return net_.output_shape().size(); }

  /// The outputs for some samples, as many at a time as a batch takes.
  void run(const std::vector<float>& x, std::vector<float>& y, glia::profile* profile = nullptr) {
    const std::size_t inputs = net_.sample_shape().size();
    const std::size_t count = x.size() / inputs;
    y.resize(count * outputs());
    for (std::size_t first = 0; first < count; first += batch_) {
      const std::size_t rows = std::min(batch_, count - first);
      const auto& ready = prepared_for(rows);
      glia::timeline times;
      const auto start = clock_type::now();
      ready.run(std::span(x).subspan(first * inputs, rows * inputs),
                std::span(y).subspan(first * outputs(), rows * outputs()),
                profile == nullptr ? nullptr : &times);
      if (profile != nullptr) {
        profile->add(times, 1e-3 * milliseconds_since(start));
      }
    }
  }

 private:
  /// Pictures with their channels last, where the file has them first.
  static glia::onnx_model open(const std::filesystem::path& path, const settings& s) {
    glia::onnx_model as_it_is(path, {.outputs = s.outputs});
    if (as_it_is.takes_channels_first() && (!s.pictures.empty() || s.summary)) {
      return glia::onnx_model(path, {.channels_last = true, .outputs = s.outputs});
    }
    return as_it_is;
  }
  const glia::prepared& prepared_for(std::size_t rows) {
    auto& prepared = rows == batch_ ? whole_ : rest_;
    if (!prepared || (rows != batch_ && rows != rest_rows_)) {
      prepared = net_.prepare({.batch_size = rows});
      rest_rows_ = rows == batch_ ? rest_rows_ : rows;
    }
    return *prepared;
  }

  glia::onnx_model file_;
  glia::model<glia::onnx_model> net_;
  std::size_t batch_, rest_rows_ = 0;
  std::optional<glia::prepared> whole_, rest_;
};

glia::model_info info_of(const network& net, const settings& s) {
  glia::model_info info = glia::model_info::from_metadata(net.file().metadata());
  if (!s.classes.empty()) {
    std::ifstream lines(s.classes);
    glia::require<glia::data_error>(lines.is_open(), s.classes.string(), ": cannot be opened");
    info.class_names.clear();
    for (std::string line; std::getline(lines, line);) {
      info.class_names.push_back(line);
    }
  }
  const auto take = [](const std::vector<float>& source, std::array<float, 3>& destination) {
    glia::require<glia::data_error>(source.size() != 2, "expected one number, or three, got two");
    for (std::size_t c = 0; c < 3 && !source.empty(); ++c) {
      destination[c] = source[source.size() == 1 ? 0 : c];
    }
  };
  take(s.mean, info.mean);
  take(s.std, info.std);
  info.crop = info.crop || s.crop;
  const std::size_t outputs = net.outputs();
  if (!s.outputs.empty() && info.class_names.size() != outputs) {
    info.class_names.clear();  // which are those of the file's own outputs
  }
  glia::require<glia::data_error>(info.class_names.empty() || info.class_names.size() == outputs,
                                  "there are names of ", info.class_names.size(), " classes for ",
                                  outputs, " outputs");
  return info;
}

/// Logits as probabilities; what is probabilities already, or one number, stays.
void make_probabilities(std::span<float> row, glia::output_kind kind) {
  if (kind == glia::output_kind::softmax || row.size() < 2) {
    return;
  }
  const float maximum = *std::max_element(row.begin(), row.end());
  float sum = 0;
  for (float& value : row) {
    value = std::exp(value - maximum);
    sum += value;
  }
  for (float& value : row) {
    value /= sum;
  }
}

void print_row(const std::string& name, std::span<float> row, const network& net,
               const glia::model_info& info, const settings& s) {
  std::cout << name << ':';
  const bool classes = !s.raw && net.model().output_shape().rank() == 1 && row.size() > 1 &&
                       net.file().output_kind() != glia::output_kind::sigmoid;
  if (!classes) {
    for (const float value : row) {
      std::cout << ' ' << value;
    }
    std::cout << '\n';
    return;
  }
  make_probabilities(row, net.file().output_kind());
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min(s.top, order.size()));
  std::partial_sort(order.begin(), last, order.end(),
                    [&](std::size_t a, std::size_t b) { return row[a] > row[b]; });
  for (auto k = order.begin(); k != last; ++k) {
    std::cout << "  " << (info.class_names.empty() ? std::to_string(*k) : info.class_names[*k])
              << ' ' << std::fixed << std::setprecision(1) << 100 * row[*k] << " %"
              << std::defaultfloat;
  }
  std::cout << '\n';
}

void print_rows(const samples& rows, network& net, const glia::model_info& info, const settings& s,
                glia::profile* profile) {
  std::vector<float> y;
  net.run(rows.numbers, y, profile);
  for (std::size_t n = 0; n < rows.names.size(); ++n) {
    print_row(rows.names[n], std::span(y).subspan(n * net.outputs(), net.outputs()), net, info, s);
  }
}

void print_summary(const network& net) {
  const auto& message = net.file().content().message();
  std::cout << net.file().content().name() << ": opset " << net.file().content().opset()
            << ", written by " << message.producer_name() << ' ' << message.producer_version()
            << "\n\n"
            << net.model().summary() << '\n';
  for (const auto& [key, value] : net.file().metadata()) {
    std::string line = value;
    std::replace(line.begin(), line.end(), '\n', ' ');
    std::cout << key << ": " << line << '\n';
  }
}

/// How far two networks are apart on the same samples, and how long each takes, in turns.
void compare(const samples& data, network& net, network& other) {
  glia::require<glia::data_error>(net.model().sample_shape() == other.model().sample_shape() &&
                                      net.outputs() == other.outputs(),
                                  "the two networks take samples ", net.model().sample_shape(),
                                  " and ", other.model().sample_shape(), " and give ",
                                  net.outputs(), " and ", other.outputs(), " outputs");
  glia::require<glia::data_error>(!data.names.empty(), "there is no sample to compare them on");
  std::vector<float> a;
  std::vector<float> b;
  std::array<std::vector<double>, 2> times;
  constexpr int rounds = 9;
  for (int round = 0; round <= rounds; ++round) {
    for (const int turn : {0, 1}) {
      const auto start = clock_type::now();
      turn == 0 ? net.run(data.numbers, a) : other.run(data.numbers, b);
      if (round > 0) {  // the first one prepares
        times[static_cast<std::size_t>(turn)].push_back(milliseconds_since(start));
      }
    }
  }
  float difference = 0;
  std::size_t agreements = 0;
  const std::size_t outputs = net.outputs();
  for (std::size_t n = 0; n < data.names.size(); ++n) {
    const auto row = [&](const std::vector<float>& values) {
      return std::span(values).subspan(n * outputs, outputs);
    };
    for (std::size_t i = 0; i < outputs; ++i) {
      difference = std::max(difference, std::abs(row(a)[i] - row(b)[i]));
    }
    const auto best = [&](std::span<const float> r) {
      return std::max_element(r.begin(), r.end()) - r.begin();
    };
    agreements += best(row(a)) == best(row(b)) ? 1 : 0;
  }
  const auto middle = [&](std::vector<double> all_times) {
    std::nth_element(all_times.begin(), all_times.begin() + rounds / 2, all_times.end());
    return all_times[rounds / 2] / static_cast<double>(data.names.size());
  };
  std::cout << "outputs differ by at most " << difference
            << "; the likeliest class is the same for " << agreements << " of " << data.names.size()
            << " samples\n"
            << net.file().description() << ": " << middle(times[0]) << " ms a sample, "
            << other.file().description() << ": " << middle(times[1]) << " ms (medians of "
            << rounds << " runs in turns)\n";
}

int run(int argc, char** argv) {
  settings s;
  CLI::App app{"Predicts with any network in an ONNX file"};
  app.add_option("network", s.network, "the ONNX file")->required();
  auto* const pictures = app.add_option("pictures", s.pictures, "JPEG and PNG files to judge");
  auto* const csv = app.add_option("--csv", s.csv, "a file with the numbers of a sample in a line");
  app.add_flag("--header", s.header, "its first line has the columns' names");
  auto* const standard =
      app.add_flag("--stdin", s.from_stdin, "lines of numbers, each judged as it comes");
  pictures->excludes(csv, standard);
  csv->excludes(standard);
  app.add_option("--batch", s.batch, "samples at a time")->check(CLI::Range(1, 65536));
  app.add_option("--top", s.top, "classes that are shown")->check(CLI::Range(1, 1000000));
  app.add_flag("--raw", s.raw, "shows the outputs as they are");
  app.add_option("--output", s.outputs,
                 "a layer or tensor of the file to show in place of its outputs");
  app.add_option("--classes", s.classes, "a file with the names of classes, one in a line");
  app.add_option("--mean", s.mean, "of colors in [0, 1]: one, or red, green and blue")
      ->expected(1, 3);
  app.add_option("--std", s.std, "what is divided by, likewise")
      ->expected(1, 3)
      ->check(CLI::Validator(positive_float, ""));
  app.add_flag("--crop", s.crop,
               "cuts pictures to the network's proportions, and does not stretch them");
  app.add_option("--threads", s.threads, "of the cpu; 0: one per core");
  app.add_flag("--profile", s.profile, "says where the time went");
  app.add_option("--compare", s.compare, "another network, on the same samples")
      ->excludes(standard);
  app.add_flag("--summary", s.summary, "prints what is in the file");
  CLI11_PARSE(app, argc, argv);

  network net(s.network, s);
  if (s.summary) {
    print_summary(net);
    return 0;
  }
  const glia::model_info info = info_of(net, s);
  const std::size_t size = net.model().sample_shape().size();
  glia::profile profile;
  glia::profile* const watch = s.profile ? &profile : nullptr;
  int failures = 0;
  samples data;
  if (s.from_stdin) {
    for (std::size_t line = 1;; ++line) {
      samples sample;
      if (!read_line(line, size, sample)) {
        break;
      }
      print_rows(sample, net, info, s, watch);
      std::cout.flush();
    }
  } else if (!s.csv.empty()) {
    data = read_table(s.csv, size, s.header);
  } else {
    glia::require<glia::data_error>(
        !s.pictures.empty(), "nothing to judge; name pictures, or --csv, --stdin or --summary");
    const picture_reader reader(net.model().sample_shape(), info);
    for (const std::string& path : s.pictures) {
      try {
        reader.read(path, data);
      } catch (const glia::data_error& e) {  // the others are still of interest
        std::cerr << "predict: " << e.what() << '\n';
        failures = 1;
      }
    }
  }
  if (!s.compare.empty()) {
    network other(s.compare, s);
    compare(data, net, other);
  } else if (!s.from_stdin) {
    print_rows(data, net, info, s, watch);
  }
  if (s.profile) {
    const double seconds_per_batch =
        profile.seconds / static_cast<double>(std::max<std::size_t>(profile.steps, 1));
    std::cout << "\n"
              << profile.steps << " batches of up to " << s.batch << ", "
              << glia::fixed_text(1e3 * seconds_per_batch, 3) << " ms each\n\n"
              << profile.kernel_table(30);
  }
  return failures;
}

int main(int argc, char** argv) {
  // Errors, and output that cannot be written, become the exit status.
  return run_program("predict", argc, argv, &run);
}
