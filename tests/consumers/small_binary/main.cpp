// Predicts with a saved model, and does nothing else: as small as a program with glia gets.
#include <cstdio>
#include <glia/glia.hpp>
#include <glia/models/model_file.hpp>

int main(int, char** argv) {
  const glia::cpu<float> device({.threads = 1});
  glia::model net{glia::sequential{glia::sequential{glia::dense{64, glia::relu}, glia::dense{10}},
                                   glia::softmax},
                  {32},
                  device};
  glia::load(net, argv[1]);
  const auto ready = net.prepare({.batch_size = 1});
  const std::vector<float> question(32, 0.5F);
  std::vector<float> answer(10);
  ready.run(question, answer);
  for (const float probability : answer) {
    std::printf("%g\n", static_cast<double>(probability));
  }
}
