#pragma once

#include "cli/train.h"

namespace residual::cli {

// Runs this command line in the processes that command.launcher starts ("mpirun -n 4"), and returns
// the exit code. If they end because one of them was lost, and the run has a checkpoint of theirs,
// it resumes from that, up to command.max_restarts times; without one it begins again. SIGINT,
// SIGTERM and SIGHUP are passed on and end the run.
int launch(const TrainCommand& command, int argc, char** argv);

}  // namespace residual::cli
