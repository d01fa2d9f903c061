// Trains the convolutional network that Keras users have measured on Colab's GPUs and TPUs, on
// MNIST or any data of its format, and prints its accuracy, speed and memory.
//
//     examples/run mnist_cnn --epochs 12 --batch-size 128
//     examples/run mnist_cnn --data /usr/share/datasets/fashion-mnist
//
// The defaults (Adam at 1e-3, batches of 1,024, 10 epochs) reach at least 98.5 % test accuracy.

#include "../mnist.hpp"
#include "../mnist_networks.hpp"

int main(int argc, char** argv) {
  return mnist_program(
      argc, argv, {.name = "mnist_cnn", .sample = {28, 28, 1}, .epochs = 10, .batch_size = 1024},
      convolutional_network());
}
