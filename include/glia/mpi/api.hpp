#pragma once

// MPI's functions in C, without those in C++ that MPI 3 has done away with and that some
// implementations still bring, and a library with them.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
