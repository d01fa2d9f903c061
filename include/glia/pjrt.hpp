#pragma once

// The backend for devices that XLA compiles for: see docs/devices.md.
#ifdef GLIA_COMPILED
#include "glia/compiled/definitions.hpp"  // which holds models and training for other backends
#endif
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
