# Finds nothing: xtensor-blas's package asks for LAPACK, whose functions glia does not call.
set(LAPACK_FOUND TRUE)
set(LAPACK_LIBRARIES)
