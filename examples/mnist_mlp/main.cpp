// Trains the MNIST perceptron 784-400-400-500-10 and prints its accuracy, speed and memory.
//
//     examples/run mnist_mlp --epochs 20 --threads 2
//
// The defaults (Adam at 1e-3, batches of 100, 20 epochs) reach at least 98 % test accuracy.
// --device pjrt:PATH runs the same description on the GPU or TPU that a plugin drives.

#include "../mnist.hpp"
#include "../mnist_networks.hpp"

int main(int argc, char** argv) {
  return mnist_program(argc, argv,
                       {.name = "mnist_mlp", .sample = {784}, .epochs = 20, .batch_size = 100},
                       perceptron());
}
