#include "glia/models/open_impl.hpp"
