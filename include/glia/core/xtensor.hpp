#pragma once

// The only header that includes xtensor, so that only this file must change if a new release moves
// its headers. Exception: backends/cpu/products/gemm.hpp includes xtensor-blas, if BLAS is used.

#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/containers/xtensor.hpp>
#include <xtensor/io/xio.hpp>
#else
#if defined(__clang__) && __clang_major__ >= 19
// From version 19, clang finds two matching partial specializations for the shapes of xtensor 0.24.
#include <cstddef>
#include <xtensor/xstorage.hpp>
namespace xt {
template <class X>
struct rebind_container<X, svector<std::size_t, 4>> {
  using type = svector<X, 4>;
};
template <class X>
struct rebind_container<X, svector<std::ptrdiff_t, 4>> {
  using type = svector<X, 4>;
};
}  // namespace xt
#endif
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xio.hpp>
#include <xtensor/xtensor.hpp>
#endif
