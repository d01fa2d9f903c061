// expects: expected a function of variables of any backend: write [](auto x)
#include <glia/layers/lambda.hpp>
#include <glia/models/model.hpp>
#include <glia/ops/ops.hpp>

glia::model net{glia::lambda{"double", [](glia::variable x) { return x * 2.0; }}, {2}};
