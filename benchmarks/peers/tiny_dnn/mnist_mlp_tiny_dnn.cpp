// The MNIST perceptron (784-400-400-500-10, ReLU, Adam 1e-3) in tiny-dnn 1.0.0a3, Debian's package.
// benchmarks/peers/setup builds it, from the repository's root, with
//
//     g++ -std=c++17 -O3 -march=native -ffast-math -w -DCNN_USE_TBB -Ibenchmarks/peers/tiny_dnn \
//         benchmarks/peers/tiny_dnn/mnist_mlp_tiny_dnn.cpp -ltbb -lz -o
//         build/peers/mnist_mlp_tiny_dnn
//
// the fastest we found. Tried with two threads on a busy machine, seconds for 60,000 images (scaled
// up from 1,000; tiny-dnn keeps one gradient of all weights for each image of a batch, and so
// memory decides more than arithmetic or threads):
//
//      66  this
//      76  ... with tiny-dnn's own AVX kernels (CNN_USE_SSE, CNN_USE_AVX), slower than GCC's code
//      78  ... by clang++
//      80  one thread (CNN_SINGLE_THREAD)
//     105  its own std::async threads, always as many as cores
//     230  OpenMP (CNN_USE_OMP): a parallel region for each weight that Adam updates
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

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
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
  int epochs = 20;
  int batch = 100;
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

std::vector<vec_t> read_images(const std::string& path) {
  const auto bytes = read_idx(path, 16);
  std::vector<vec_t> images(bytes.size() / 784, vec_t(784));
  for (std::size_t i = 0; i < images.size() * 784; ++i)
    images[i / 784][i % 784] = bytes[i] / 255.0f;
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

// train() resets the optimizer at each call, and a call is one epoch here, because tiny-dnn does
// not shuffle: this keeps the moments from one epoch to the next.
struct lasting_adam : tiny_dnn::adam {
  void reset() override {}
};

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

  network<sequential> net;
  // Glorot uniform kernels and zero biases are tiny-dnn's own defaults.
  net << fully_connected_layer<relu>(784, 400) << fully_connected_layer<relu>(400, 400)
      << fully_connected_layer<relu>(400, 500) << fully_connected_layer<softmax>(500, 10);
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
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

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

  const auto test_images = read_images(o.data + "/t10k-images-idx3-ubyte.gz");
  const auto test_labels = read_labels(o.data + "/t10k-labels-idx1-ubyte.gz");
  const result tested = net.test(test_images, test_labels);
  std::printf("{\"peer\": \"tiny-dnn\", \"test_accuracy\": %.4f, \"peak_mb\": %.1f}\n",
              tested.accuracy() / 100, peak_mb());
}

}  // namespace

int main(int argc, char** argv) try {
  run(parse(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "mnist_mlp_tiny_dnn: %s\n", error.what());
  return 1;
}
