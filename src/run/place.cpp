#include "run/place.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace residual::run {
namespace {

constexpr int kPort = 29500;  // torchrun's default

// The environment variables that one launcher sets for each process.
struct Starter {
  const char *rank, *size;
  const char* job = nullptr;  // an id that all processes of one job share
};
constexpr Starter kStarters[] = {
    {"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID"},
};

int number(const char* name, const char* text, int least, int most) {
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  require(error == std::errc() && stop == end && value >= least && value <= most,
          "{}: expected a number from {} to {}, got \"{}\"", name, least, most, text);
  return value;
}

// "n[003-007,12],m" -> "n003"
std::string first_node(const std::string& list) {
  const size_t end = list.find_first_of("[,");
  std::string first = list.substr(0, end);
  if (end != std::string::npos && list[end] == '[') {
    first += list.substr(end + 1, list.find_first_of("-,]", end) - end - 1);
  }
  return first;
}

}  // namespace

Place place_from(const std::function<const char*(const char*)>& variable) {
  for (const Starter& starter : kStarters) {
    const char* const rank = variable(starter.rank);
    const char* const size = variable(starter.size);
    if (rank == nullptr && size == nullptr) continue;
    const char* const missing = rank == nullptr ? starter.rank : starter.size;
    require(rank != nullptr && size != nullptr, "--distributed: {} is not set, but {} is", missing,
            rank == nullptr ? starter.size : starter.rank);
    Place place;
    place.size = number(starter.size, size, 1, 65'536);
    place.rank = number(starter.rank, rank, 0, place.size - 1);
    if (starter.job != nullptr && variable(starter.job) != nullptr) {
      place.job = variable(starter.job);
    }
    const char* const port = variable("MASTER_PORT");
    place.port = port == nullptr ? kPort : number("MASTER_PORT", port, 1, 65'534);
    // torchrun's own server listens at MASTER_PORT.
    const char* const taken = variable("TORCHELASTIC_USE_AGENT_STORE");
    if (taken != nullptr && std::strcmp(taken, "True") == 0) ++place.port;
    if (const char* host = variable("MASTER_ADDR")) {
      place.host = host;
    } else if (const char* nodes = variable("SLURM_STEP_NODELIST")) {
      place.host = first_node(nodes);
    }
    require(!place.host.empty() || place.size == 1,
            "--distributed: set MASTER_ADDR to the machine that process 0 runs on");
    return place;
  }
  fail(
      "--distributed: the environment has no rank and number of processes. Start with torchrun, "
      "mpirun or srun, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
}

Place place_from_environment() {
  return place_from([](const char* name) { return std::getenv(name); });
}

}  // namespace residual::run
