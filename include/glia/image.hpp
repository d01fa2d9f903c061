#pragma once

// All headers of the component glia::image.
#include "glia/image/augment.hpp"
#include "glia/image/image.hpp"
#include "glia/image/image_dataset.hpp"
#include "glia/image/image_fit.hpp"
#include "glia/image/image_folder.hpp"
#include "glia/image/image_grid.hpp"
#include "glia/image/jpeg.hpp"
#include "glia/image/normalization.hpp"
#include "glia/image/photo_samples.hpp"
#include "glia/image/png.hpp"
#include "glia/image/read_image.hpp"
#include "glia/image/resize.hpp"
#include "glia/image/sample_decoding.hpp"
#include "glia/image/tfrecord_dataset.hpp"
#include "glia/image/to_image.hpp"
#include "glia/image/write_tfrecords.hpp"
