#pragma once

// Training on several machines. Needs an implementation of MPI 3: link `glia::mpi`.

#include "glia/distributed.hpp"
#include "glia/mpi/communicator.hpp"
#include "glia/mpi/distributed.hpp"
