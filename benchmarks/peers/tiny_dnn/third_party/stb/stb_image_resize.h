// tiny-dnn names its bundled copy, which Debian replaced with libstb-dev.
#include <stb/stb_image_resize.h>
