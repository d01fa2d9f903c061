// expects: write net.description() instead of net
#include <glia/layers/dense.hpp>
#include <glia/layers/sequential.hpp>
#include <glia/models/model.hpp>

const glia::model net{glia::dense{1}, {1}};
const glia::sequential layers{net, glia::dense{1}};
