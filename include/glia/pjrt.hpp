#pragma once

// The backend for GPUs and TPUs. XLA compiles the graphs for them. See docs/how_to/devices.md.
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
