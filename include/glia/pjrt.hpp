#pragma once

// The backend for GPUs and TPUs, for which XLA compiles the graphs. See docs/how_to/devices.md.
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
