// expects: the shape of a sample is missing
#include <glia/layers/dense.hpp>
#include <glia/models/model.hpp>

glia::model net{glia::dense{10}, glia::cpu<float>{}};
