#pragma once

// All headers of the component glia::video.
#include "glia/video/clip_dataset.hpp"
#include "glia/video/read_frames.hpp"
