#pragma once

// The backend for devices that XLA compiles for: GPUs and TPUs. See docs/how_to/devices.md.
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
