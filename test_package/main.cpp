// Uses something of every component that is there, so that each has to compile and to link.
#include <glia/glia.hpp>
#include <iostream>

#ifdef WITH_compression
#include <glia/compression/gzip.hpp>
#endif
#ifdef WITH_image
#include <glia/image.hpp>
#endif
#ifdef WITH_safetensors
#include <glia/io/parameters.hpp>
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

int main() {
  glia::model net{glia::sequential{glia::dense{4, glia::relu}, glia::dense{2}}, {3}};
  const xt::xarray<float> x = xt::ones<float>({5, 3});
  std::cout << net.summary() << net.predict(x) << '\n';
  bool good = net.parameter_count() == 26;
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
  glia::write_safetensors("net.safetensors", glia::parameters_of(net));
  glia::load_parameters(net, glia::read_safetensors("net.safetensors"), glia::same_names(net));
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
