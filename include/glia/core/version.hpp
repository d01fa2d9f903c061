#pragma once

// The only place that defines glia's version. The build files and the Conan recipe parse it.
#define GLIA_VERSION_MAJOR 0
#define GLIA_VERSION_MINOR 4
#define GLIA_VERSION_PATCH 0
