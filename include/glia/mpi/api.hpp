#pragma once

// Excludes MPI's C++ functions, and with them a library. MPI 3 removed these functions, but some
// implementations still have them.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
