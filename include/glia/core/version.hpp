#pragma once

// The one place that states glia's version; the build files and the Conan recipe parse it.
#define GLIA_VERSION_MAJOR 0
#define GLIA_VERSION_MINOR 2
#define GLIA_VERSION_PATCH 0
