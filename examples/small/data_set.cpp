// A data set of your own: any type with four functions, here of pictures that are drawn on request.

#include <glia/glia.hpp>
#include <iostream>

/// Bars that lie (class 0) or stand (class 1), at random places of 8 x 8 pixels.
struct bars {
  std::uint64_t seed;
  std::size_t count;

  std::size_t size() const { return count; }
  glia::shape input_shape() const { return {8, 8, 1}; }
  std::int32_t label(std::size_t i) const { return static_cast<std::int32_t>(i % 2); }
  void input(std::size_t i, std::span<float> pixels) const {
    glia::random_stream random({.seed = seed, .stream = static_cast<std::uint32_t>(i)});
    std::fill(pixels.begin(), pixels.end(), 0.0F);
    const auto place = static_cast<std::size_t>(random.uniform() * 8);
    for (std::size_t k = 0; k < 8; ++k) {
      pixels[label(i) == 0 ? 8 * place + k : 8 * k + place] = 1;
    }
  }
};

int main() {
  glia::model net{
      glia::sequential{glia::conv2d{.filters = 4, .kernel_size = 3, .activation = glia::relu},
                       glia::global_max_pool2d{}, glia::dense{2}},
      {8, 8, 1}};
  glia::trainer trainer{net, glia::softmax_cross_entropy{}, glia::adam{0.02}};
  const bars train{.seed = 1, .count = 400};
  const bars test{.seed = 2, .count = 100};
  const auto history =
      trainer.fit(train, test, {.epochs = 10, .batch_size = 20, .progress = nullptr});
  const bool all_right = history.validation("accuracy").back() == 1;
  std::cout << (all_right ? "all" : "not all") << " of " << test.size()
            << " new bars are told apart\n";
}
