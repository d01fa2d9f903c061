// expects: lambda: expected a function of a variable: write [](glia::variable x)
#include <glia/layers/lambda.hpp>
#include <glia/models/model.hpp>
#include <glia/ops/ops.hpp>

glia::model net{glia::lambda{"double", [](double x) { return x * 2.0; }}, {2}};
