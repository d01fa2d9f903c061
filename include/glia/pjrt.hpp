#pragma once

// The backend for devices that XLA compiles for: see docs/devices.md.
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
