#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <glia/glia.hpp>
#include <glia/image/resize.hpp>

#include "catch.hpp"
#include "helpers.hpp"

// This program replaces malloc and what operator new is made of, to count every allocation that
// reaches the C library, whoever makes it.

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* pointer, std::size_t size);
}

namespace {
std::atomic<bool> counting{false};
std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> allocated{0};  // bytes

void note(std::size_t size) {
  if (counting.load(std::memory_order_relaxed)) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    allocated.fetch_add(size, std::memory_order_relaxed);
  }
}
}  // namespace

extern "C" {
void* malloc(std::size_t size) {
  note(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  note(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* pointer, std::size_t size) {
  note(size);
  return __libc_realloc(pointer, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  note(size);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  note(size);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}

TEST_CASE("the count sees what it should") {
  counting = true;
  allocations = 0;
  // Called by name: a compiler may leave out what `new int` and an unused malloc would allocate.
  void* number = ::operator new(4);
  void* volatile memory = std::malloc(10);
  counting = false;
  CHECK(allocations == 2);
  ::operator delete(number);
  std::free(memory);
}

TEST_CASE("a training step allocates nothing from the system once the first epoch is over") {
  const auto check = [](const auto& description, const glia::shape& sample, auto optimizer,
                        const std::vector<glia::gradient_transform>& gradients,
                        const glia::cpu_products& products = {}) {
    glia::model net{description, sample, glia::cpu<float>({.threads = 2, .products = products})};
    glia::trainer trainer{net,
                          glia::softmax_cross_entropy{.label_smoothing = 0.1},
                          optimizer,
                          {.gradient_transforms = gradients}};
    glia::running_scores sums(net.device(), {glia::accuracy()});
    glia::batch full;
    glia::batch last;
    for (auto [b, size] : {std::pair{&full, std::size_t{100}}, std::pair{&last, std::size_t{37}}}) {
      b->size = size;
      b->input_shape = glia::batch_of(size, sample);
      b->inputs.assign(b->input_shape.size(), 0.0F);
      for (std::size_t i = 0; i < b->inputs.size(); i += 3) {
        b->inputs[i] = static_cast<float>(glia::detail::random_bits({.seed = 1}, i) * 0x1p-32);
      }
      b->labels.assign(size, 1);
    }
    const auto epoch = [&] {
      for (int i = 0; i < 5; ++i) {
        trainer.step(full, &sums);
      }
      trainer.step(last, &sums);
    };
    epoch();
    allocations = 0;
    counting = true;
    epoch();
    epoch();
    counting = false;
    CHECK(allocations == 0);
  };
  const glia::sequential perceptron{glia::dense{400, glia::relu}, glia::dense{400, glia::relu},
                                    glia::dense{500, glia::relu}, glia::dense{10}};
  const glia::sequential images{
      glia::conv2d{.filters = 8, .kernel_size = 3, .activation = glia::gelu},
      glia::batch_norm{},
      glia::max_pool2d{},
      glia::dropout{0.2},
      glia::residual{glia::sequential{
          glia::conv2d{.filters = 8, .kernel_size = 3, .padding = glia::same}, glia::layer_norm{}}},
      glia::avg_pool2d{},
      glia::flatten{},
      glia::dense{10}};
  const glia::sequential sequences{glia::gru{.units = 12, .return_sequences = true},
                                   glia::multi_head_attention{.num_heads = 2, .key_dim = 4},
                                   glia::flatten{}, glia::dense{10}};
  for (const glia::cpu_products products :
       {glia::cpu_products{}, glia::cpu_products(glia::bfloat16)}) {
    check(perceptron, {784}, glia::adam{}, {}, products);
    check(images, {12, 14, 1}, glia::sgd{.learning_rate = 0.1, .momentum = 0.9},
          {glia::clip_by_global_norm(1)}, products);
    check(sequences, {9, 5}, glia::adam{}, {}, products);
  }
}

TEST_CASE("resizing a long picture takes the memory of the result, not of the source") {
  constexpr std::size_t result = std::size_t{224} * 224 * 3;
  const auto bytes_of = [&](const auto& call) {
    allocated = 0;
    counting = true;
    const glia::image resized = call();
    counting = false;
    REQUIRE(resized.pixels.size() == result);
    return allocated.load();
  };
  // Weights, sums and rows as floats come to a few times the result.
  const auto tall = glia::filled_image(20'000, 1, {9, 9, 9});
  const auto wide = glia::filled_image(1, 20'000, {9, 9, 9});
  const auto long_one = glia::filled_image(100'000, 10, {9, 9, 9});
  CHECK(bytes_of([&] { return glia::resize_and_crop(tall, 224, 224); }) < 12 * result);
  CHECK(bytes_of([&] { return glia::resize_and_crop(wide, 224, 224); }) < 12 * result);
  CHECK(bytes_of([&] { return glia::resize(tall, 224, 224); }) < 12 * result);
  CHECK(bytes_of([&] { return glia::resize(wide, 224, 224); }) < 12 * result);
  CHECK(bytes_of([&] { return glia::resize(long_one, 224, 224); }) < 12 * result);
}
