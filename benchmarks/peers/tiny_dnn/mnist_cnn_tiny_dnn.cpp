// The MNIST convolutional network (conv 64 2x2, pool, conv 32 2x2, pool, dense 256, dense 10; ReLU,
// dropout 0.3, 0.3 and 0.5, Adam 1e-3) in tiny-dnn 1.0.0a3, Debian's package.
// benchmarks/peers/setup builds it, from the repository's root, with
//
//     g++ -std=c++17 -O3 -march=native -ffast-math -w -DCNN_USE_TBB -Ibenchmarks/peers/tiny_dnn \
//         benchmarks/peers/tiny_dnn/mnist_cnn_tiny_dnn.cpp -ltbb -lz -o
//         build/peers/mnist_cnn_tiny_dnn
//
// the fastest we found. Tried at batch 256 with two threads on a busy machine, seconds for 60,000
// images (scaled up from 512; repeats differ by a third):
//
//     250-380  this; also with tiny-dnn's own AVX kernels (CNN_USE_SSE, CNN_USE_AVX), made for 5x5
//              only, with ReLU before the pooling, and with malloc keeping freed memory
//     300-340  its own std::async threads, always as many as cores
//     360      by clang++
//     370      OpenMP (CNN_USE_OMP)
//     420-490  one thread (CNN_SINGLE_THREAD)
//
// At batch 1024 it is 280-480 seconds. tiny-dnn keeps activations and one gradient of all weights
// for each image of a batch: 3 MB.
//
// What this version's own layers get wrong, and what stands here instead:
//
//   - padding::same puts the row and the column of a 2x2 kernel at the top and at the left, and
//     never clears the padded gradient, so that it sums up over all steps. Here images are padded
//     at the bottom and at the right as they are read, the second convolution's input by the
//     dropout before it, and both convolutions are "valid" ones.
//   - dropout_layer drops what it should keep, and its gradient leaves out the scale and visits as
//     many elements of each image as the batch has images. Here a layer of its own stands in, with
//     a random generator for each image so that it runs on all threads.
//
// Where it differs from the other peers: its Adam raises the powers of beta once for each of the
// eight parameter arrays, not once a step, and its loss works on probabilities, not logits.
#define CNN_NO_SERIALIZATION
#include <tiny_dnn/config.h>
#undef CNN_USE_GEMMLOWP  // 8-bit products only; without it one package fewer is needed
#if defined(CNN_USE_TBB)
// tiny-dnn names task_scheduler_init, which oneTBB dropped; the threads are limited in main
// instead.
#include <tbb/global_control.h>
#include <tbb/tbb.h>
namespace tbb {
struct task_scheduler_init {
  static constexpr int automatic = -1;
  explicit task_scheduler_init(int) {}
};
}  // namespace tbb
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#include <sys/resource.h>
#include <tiny_dnn/tiny_dnn.h>
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using tiny_dnn::label_t;
using tiny_dnn::vec_t;

namespace {

#if defined(CNN_USE_TBB)
constexpr const char* threading = "TBB";
#elif defined(CNN_USE_OMP)
constexpr const char* threading = "OpenMP";
#else
constexpr const char* threading = "std::async";
#endif

struct options {
  std::string data = "examples/data/mnist";
  int epochs = 10;
  int batch = 1024;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int images = 60000;
  unsigned seed = 1;
};

options parse(int argc, char** argv) {
  options o;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    const std::string value = argv[i + 1];
    if (flag == "--data")
      o.data = value;
    else if (flag == "--epochs")
      o.epochs = std::stoi(value);
    else if (flag == "--batch")
      o.batch = std::stoi(value);
    else if (flag == "--threads")
      o.threads = std::stoi(value);
    else if (flag == "--images")
      o.images = std::stoi(value);
    else if (flag == "--seed")
      o.seed = static_cast<unsigned>(std::stoul(value));
    else
      throw std::runtime_error("unknown flag " + flag);
  }
  if (argc % 2 == 0) throw std::runtime_error("the last flag has no value");
  return o;
}

// The bytes of a gzip IDX file after its header (magic, count, and for images rows and columns).
std::vector<std::uint8_t> read_idx(const std::string& path, std::size_t header) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file) throw std::runtime_error("cannot open " + path);
  std::vector<std::uint8_t> bytes;
  std::uint8_t chunk[1 << 16];
  for (int n; (n = gzread(file, chunk, sizeof chunk)) > 0;)
    bytes.insert(bytes.end(), chunk, chunk + n);
  gzclose(file);
  if (bytes.size() < header) throw std::runtime_error(path + " is too short");
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  return bytes;
}

// 28x28 images with a row and a column of zeros after: 29x29.
std::vector<vec_t> read_images(const std::string& path) {
  const auto bytes = read_idx(path, 16);
  std::vector<vec_t> images(bytes.size() / 784, vec_t(29 * 29));
  for (std::size_t i = 0; i < images.size() * 784; ++i)
    images[i / 784][i % 784 / 28 * 29 + i % 28] = bytes[i] / 255.0f;
  return images;
}

std::vector<label_t> read_labels(const std::string& path) {
  const auto bytes = read_idx(path, 8);
  return {bytes.begin(), bytes.end()};
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

// Inverted dropout, and as many rows and columns of zeros after each channel as the next layer
// wants.
class padded_dropout : public tiny_dnn::layer {
 public:
  using Activation = tiny_dnn::activation::identity;

  padded_dropout(const tiny_dnn::shape3d& input, float rate, tiny_dnn::serial_size_t pad)
      : layer({tiny_dnn::vector_type::data}, {tiny_dnn::vector_type::data}),
        in_(input),
        out_(input.width_ + pad, input.height_ + pad, input.depth_),
        dropped_(static_cast<std::uint64_t>(rate * 65536)),
        scale_(1 / (1 - rate)) {}

  std::vector<tiny_dnn::shape3d> in_shape() const override { return {in_}; }
  std::vector<tiny_dnn::shape3d> out_shape() const override { return {out_}; }
  std::string layer_type() const override { return "padded-dropout"; }
  void set_context(tiny_dnn::net_phase phase) override {
    training_ = phase == tiny_dnn::net_phase::train;
  }

  void forward_propagation(const std::vector<tiny_dnn::tensor_t*>& inputs,
                           std::vector<tiny_dnn::tensor_t*>& out) override {
    const std::size_t samples = inputs[0]->size();
    if (training_ && factors_.size() < samples) factors_.resize(samples, vec_t(in_.size()));
    ++steps_;
    tiny_dnn::for_i(parallelize_, samples, [&](int sample) {
      const float* source = (*inputs[0])[sample].data();
      float* target = (*out[0])[sample].data();
      if (!training_)
        return each_row(
            [&](std::size_t i, std::size_t o) { std::copy_n(source + i, in_.width_, target + o); });
      float* factors = factors_[sample].data();
      draw(factors, (steps_ << 32) + static_cast<std::uint64_t>(sample));
      each_row([&](std::size_t i, std::size_t o) {
        for (std::size_t x = 0; x < in_.width_; ++x) target[o + x] = source[i + x] * factors[i + x];
      });
    });
  }

  void back_propagation(const std::vector<tiny_dnn::tensor_t*>&,
                        const std::vector<tiny_dnn::tensor_t*>&,
                        std::vector<tiny_dnn::tensor_t*>& out_grad,
                        std::vector<tiny_dnn::tensor_t*>& in_grad) override {
    tiny_dnn::for_i(parallelize_, in_grad[0]->size(), [&](int sample) {
      const float* source = (*out_grad[0])[sample].data();
      float* target = (*in_grad[0])[sample].data();
      const float* factors = factors_[sample].data();
      each_row([&](std::size_t i, std::size_t o) {
        for (std::size_t x = 0; x < in_.width_; ++x) target[i + x] = source[o + x] * factors[i + x];
      });
    });
  }

 private:
  // The first elements of each row, without and with padding (which stays zero as it was
  // allocated).
  template <typename F>
  void each_row(F row) const {
    for (std::size_t r = 0; r < std::size_t{in_.height_} * in_.depth_; ++r)
      row(r * in_.width_, (r / in_.height_ * out_.height_ + r % in_.height_) * out_.width_);
  }

  // Factors 0 or scale_, from 16 bits each of splitmix64.
  void draw(float* factors, std::uint64_t seed) const {
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u;
    for (std::size_t i = 0; i < in_.size(); i += 4) {
      std::uint64_t bits = state += 0x9E3779B97F4A7C15u;
      bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
      bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
      bits ^= bits >> 31;
      for (std::size_t j = i; j < std::min<std::size_t>(i + 4, in_.size()); ++j, bits >>= 16)
        factors[j] = (bits & 65535) < dropped_ ? 0.0f : scale_;
    }
  }

  tiny_dnn::shape3d in_, out_;
  std::uint64_t dropped_;
  float scale_;
  bool training_ = true;
  std::uint64_t steps_ = 0;
  std::vector<vec_t> factors_;
};

// train() resets the optimizer at each call, and a call is one epoch here, because tiny-dnn does
// not shuffle: this keeps the moments from one epoch to the next.
struct lasting_adam : tiny_dnn::adam {
  void reset() override {}
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::size_t rightly_labeled(tiny_dnn::network<tiny_dnn::sequential>& net,
                            const std::vector<vec_t>& images, const std::vector<label_t>& labels,
                            std::size_t batch) {
  std::size_t right = 0;
  for (std::size_t first = 0; first < images.size(); first += batch) {
    const std::size_t count = std::min(batch, images.size() - first);
    std::vector<tiny_dnn::tensor_t> rows;
    for (std::size_t i = 0; i < count; ++i) rows.push_back({images[first + i]});
    const auto outputs = net.predict(rows);
    for (std::size_t i = 0; i < count; ++i)
      right += tiny_dnn::max_index(outputs[i][0]) == labels[first + i];
  }
  return right;
}

// Test accuracy on all images, then the time for a few in batches and for one at a time.
void infer(tiny_dnn::network<tiny_dnn::sequential>& net, std::vector<vec_t> images,
           std::vector<label_t> labels) {
  constexpr std::size_t batch = 100, timed = 200, warm_up = 10, calls = 100;
  const std::size_t right = rightly_labeled(net, images, labels, batch);
  std::printf("{\"peer\": \"tiny-dnn\", \"test_accuracy\": %.4f, \"peak_mb\": %.1f}\n",
              static_cast<double>(right) / static_cast<double>(images.size()), peak_mb());

  images.resize(timed);
  labels.resize(timed);
  std::vector<double> passes(5), latencies(warm_up + calls);
  for (double& pass : passes) {
    const auto start = std::chrono::steady_clock::now();
    rightly_labeled(net, images, labels, batch);
    pass = seconds_since(start);
  }
  std::sort(passes.begin(), passes.end());
  std::printf(
      "{\"peer\": \"tiny-dnn\", \"predict_seconds\": %.4f, \"predict_images\": %zu, "
      "\"predict_batch\": %zu, \"peak_mb\": %.1f}\n",
      passes[2], timed, batch, peak_mb());

  for (std::size_t i = 0; i < latencies.size(); ++i) {
    const auto start = std::chrono::steady_clock::now();
    const vec_t output = net.predict(images[i]);
    latencies[i] = 1e6 * seconds_since(start);
  }
  latencies.erase(latencies.begin(), latencies.begin() + warm_up);
  std::sort(latencies.begin(), latencies.end());
  std::printf(
      "{\"peer\": \"tiny-dnn\", \"single_us_median\": %.1f, \"single_us_p99\": %.1f, "
      "\"single_calls\": %zu, \"peak_mb\": %.1f}\n",
      latencies[calls / 2], latencies[calls * 99 / 100], calls, peak_mb());
}

void run(const options& o) {
  using namespace tiny_dnn;
#if defined(CNN_USE_TBB)
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism,
                            static_cast<std::size_t>(o.threads));
#elif defined(CNN_USE_OMP)
  omp_set_num_threads(o.threads);
#endif
  auto images = read_images(o.data + "/train-images-idx3-ubyte.gz");
  auto labels = read_labels(o.data + "/train-labels-idx1-ubyte.gz");
  images.resize(std::min<std::size_t>(images.size(), static_cast<std::size_t>(o.images)));
  labels.resize(images.size());

  using conv = convolutional_layer<identity>;
  using pool = max_pooling_layer<relu>;  // ReLU and maximum commute: a quarter of the work here
  network<sequential> net;
  // Glorot uniform kernels and zero biases are tiny-dnn's own defaults.
  net << conv(29, 29, 2, 1, 64) << pool(28, 28, 64, 2) << padded_dropout({14, 14, 64}, 0.3f, 1)
      << conv(15, 15, 2, 64, 32) << pool(14, 14, 32, 2) << padded_dropout({7, 7, 32}, 0.3f, 0)
      << fully_connected_layer<relu>(7 * 7 * 32, 256) << padded_dropout({256, 1, 1}, 0.5f, 0)
      << fully_connected_layer<softmax>(256, 10);
  set_random_seed(o.seed);
  net.init_weight();
  lasting_adam adam;
  std::mt19937 order(o.seed);

  for (int epoch = 1; epoch <= o.epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = images.size(); i > 1;
         --i) {  // one shuffle of both, swaps of pointers only
      const std::size_t j = order() % i;
      std::swap(images[i - 1], images[j]);
      std::swap(labels[i - 1], labels[j]);
    }
    net.train<cross_entropy_multiclass>(adam, images, labels, static_cast<std::size_t>(o.batch), 1);
    const double seconds = seconds_since(start);

    // train() keeps its losses to itself: this is the loss after the epoch, on at most 1,000 of the
    // images, where the other peers print the mean over the epoch.
    const std::size_t probed = std::min<std::size_t>(1000, images.size());
    double loss = 0;
    for (std::size_t i = 0; i < probed; ++i)
      loss -= std::log(std::max(net.predict(images[i])[labels[i]], 1e-7f));
    std::printf(
        "{\"peer\": \"tiny-dnn\", \"version\": \"1.0.0a3\", \"blas\": \"none (%s)\", \"threads\": "
        "%d, "
        "\"epoch\": %d, \"seconds\": %.4f, \"images\": %zu, \"loss\": %.6f, \"peak_mb\": %.1f}\n",
        threading, o.threads, epoch, seconds, images.size(), loss / static_cast<double>(probed),
        peak_mb());
    std::fflush(stdout);
  }

  // train() leaves the network in its test phase.
  const auto test_images = read_images(o.data + "/t10k-images-idx3-ubyte.gz");
  const auto test_labels = read_labels(o.data + "/t10k-labels-idx1-ubyte.gz");
  infer(net, test_images, test_labels);
}

}  // namespace

int main(int argc, char** argv) try {
  run(parse(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "mnist_cnn_tiny_dnn: %s\n", error.what());
  return 1;
}
