// Uses something of every component that is there, so that each has to compile and to link: of glia
// itself a product, which takes headers and BLAS, and half of the time of a model to compile.
#include <glia/glia.hpp>
#include <iostream>

#ifdef WITH_compression
#include <glia/compression/gzip.hpp>
#endif
#ifdef WITH_image
#include <glia/image.hpp>
#endif
#ifdef WITH_safetensors
#include <glia/io/safetensors.hpp>
#endif
#ifdef WITH_npz
#include <glia/io/npz.hpp>
#endif
#ifdef WITH_hdf5
#include <glia/io/keras_weights.hpp>
#endif
#ifdef WITH_pjrt
#include <glia/pjrt.hpp>
#endif
#ifdef WITH_video
#include <glia/video.hpp>
#endif
#ifdef WITH_onnx
#include <glia/onnx/reading/model_content.hpp>
#endif
#ifdef WITH_mpi
#include <glia/mpi.hpp>
#endif
#ifdef WITH_embedded_text
#include "embedded_text.hpp"
#endif

int main() {
  const glia::cpu<float> device;
  const std::vector<float> ones(12, 1);
  const auto a = device.from_host(std::span(ones).first(6), {2, 3});
  const auto b = device.from_host(std::span(ones), {3, 4});
  const glia::tensor no_bias;
  std::vector<float> y(8);
  device.to_host(device.run(glia::kernels::dense{}, a, b, no_bias), std::span(y));
  bool good = y == std::vector<float>(8, 3);
#ifdef WITH_embedded_text
  const std::span<const std::byte> embedded = embedded_text();
  const std::string text(reinterpret_cast<const char*>(embedded.data()), embedded.size());
  good = good && text.starts_with("cmake_minimum_required") && text.ends_with("endforeach()\n");
#endif
#ifdef WITH_compression
  try {
    (void)glia::load_mnist("nowhere", glia::gzip_files{});
    good = false;
  } catch (const glia::data_error& e) {
    std::cout << "gzip: " << e.what() << '\n';
  }
#endif
#ifdef WITH_image
  const glia::image grey = glia::filled_image(2, 3, {128, 128, 128});
  glia::write_png("grey.png", grey);
  good = good && glia::read_image("grey.png") == grey;
#endif
#ifdef WITH_safetensors
  const glia::tensor_map tensors{{"ones", xt::ones<float>({2, 3})}};
  glia::write_safetensors("ones.safetensors", tensors);
  good = good && glia::read_safetensors("ones.safetensors") == tensors;
#endif
#ifdef WITH_npz
  try {
    (void)glia::read_npz("nowhere.npz");
    good = false;
  } catch (const glia::data_error& e) {
    std::cout << "npz: " << e.what() << '\n';
  }
#endif
#ifdef WITH_hdf5
  try {
    (void)glia::read_keras_weights("nowhere.h5");
    good = false;
  } catch (const glia::data_error& e) {
    std::cout << "hdf5: " << e.what() << '\n';
  }
#endif
#ifdef WITH_pjrt
  try {
    (void)glia::pjrt({.plugin = "nowhere.so"});
    good = false;
  } catch (const glia::device_error& e) {
    std::cout << "pjrt: " << e.what() << '\n';
  }
#endif
#ifdef WITH_video
  try {
    (void)glia::read_frames("nowhere.avi", 1);
    good = false;
  } catch (const glia::data_error& e) {
    std::cout << "video: " << e.what() << '\n';
  }
#endif
#ifdef WITH_onnx
  try {
    (void)glia::onnx::model_content("nowhere.onnx");
    good = false;
  } catch (const glia::data_error& e) {
    std::cout << "onnx: " << e.what() << '\n';
  }
#endif
#ifdef WITH_mpi
  const glia::mpi::communicator ranks;  // by itself, the only one
  good = good && ranks.size() == 1 && ranks.rank() == 0;
#endif
  return good ? 0 : 1;
}
