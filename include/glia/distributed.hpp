#pragma once

/// Training on several processes, and what a class that sends bytes between them implements. The
/// processes of MPI are in glia/mpi.hpp, which includes this header.

#include "glia/distributed/lone_rank.hpp"
#include "glia/distributed/rank_group.hpp"
#include "glia/distributed/sync_batch_norm.hpp"
#include "glia/trainer.hpp"
