#pragma once

// All charts of glia::plot. gnuplot draws them when a program runs, except layer_graph.
#include "glia/plot/bars.hpp"
#include "glia/plot/captions.hpp"
#include "glia/plot/chart.hpp"
#include "glia/plot/confusion.hpp"
#include "glia/plot/curves.hpp"
#include "glia/plot/histogram.hpp"
#include "glia/plot/history.hpp"
#include "glia/plot/layer_graph.hpp"
#include "glia/plot/learning_rate_curve.hpp"
#include "glia/plot/palette.hpp"
#include "glia/plot/panels.hpp"
#include "glia/plot/profile.hpp"
