// expects: load: the model is const
#include <glia/layers/dense.hpp>
#include <glia/models/model.hpp>
#include <glia/models/model_file.hpp>

void read() {
  const glia::model net{glia::dense{1}, {1}};
  glia::load(net, "net.safetensors");
}
