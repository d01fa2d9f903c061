#pragma once

// The only header that includes xtensor and xtensor-blas: everything else asks for this one, so the
// day a release moves its files, one header changes.

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#else
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>
#endif

#include <xtensor-blas/xblas.hpp>
