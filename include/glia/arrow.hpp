#pragma once

// Tables of Apache Arrow, without its library.
#include "glia/data/read_arrow.hpp"
#include "glia/data/write_arrow.hpp"
