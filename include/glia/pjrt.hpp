#pragma once

// The backend for devices that XLA compiles for. Programs that link glia::compiled include
// glia/compiled/definitions.hpp as well.
#include "glia/pjrt/device.hpp"
#include "glia/pjrt/program.hpp"
