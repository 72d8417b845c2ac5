#include "run/place.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace residual::run {
namespace {

// The environment variables that one launcher sets for each process. Slurm comes last: mpirun may
// run inside one of its jobs.
struct Launcher {
  const char *rank, *size;
};
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"SLURM_PROCID", "SLURM_NTASKS"}};

int number(const char* name, const char* text, int least, int most) {
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  require(error == std::errc() && stop == end && value >= least && value <= most,
          "{}: expected a number from {} to {}, got \"{}\"", name, least, most, text);
  return value;
}

}  // namespace

Place place_from(const std::function<const char*(const char*)>& variable) {
  for (const Launcher& launcher : kLaunchers) {
    const char* const rank = variable(launcher.rank);
    const char* const size = variable(launcher.size);
    if (rank == nullptr && size == nullptr) continue;
    require(rank != nullptr && size != nullptr, "--distributed: {} is not set, but {} is",
            rank == nullptr ? launcher.rank : launcher.size,
            rank == nullptr ? launcher.size : launcher.rank);
    Place place;
    place.size = number(launcher.size, size, 1, 65'536);
    place.rank = number(launcher.rank, rank, 0, place.size - 1);
    return place;
  }
  fail(
      "--distributed: no MPI launcher started this process. Start it with mpirun -n N, or with srun "
      "--mpi=pmix");
}

Place place_from_environment() {
  return place_from([](const char* name) { return std::getenv(name); });
}

}  // namespace residual::run
