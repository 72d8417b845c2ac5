// Measures what the processes of a run exchange at every update: the sum of the gradients and the
// parameters. Start it like `residual train --distributed`:
//
//   mpirun -n 2 peers_bench

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

#include "train/ranks/peers.h"
#include "train/ranks/ranks_module.h"

namespace residual::train {
namespace {

template <class Body>
void report(const Peers& peers, const char* what, int rounds, Body body) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) {
    std::vector<double> seconds(static_cast<size_t>(peers.size()));
    peers.complete(std::span(seconds));  // synchronises the start
    const auto begin = Clock::now();
    body();
    seconds[static_cast<size_t>(peers.rank())] =
        std::chrono::duration<double>(Clock::now() - begin).count();
    peers.complete(std::span(seconds));
    all.push_back(std::ranges::max(seconds));
  }
  std::ranges::sort(all);
  if (!peers.leads()) return;
  fmt::print("{:<24} median {:8.1f} ms ({:.1f} to {:.1f})\n", what, 1e3 * all[all.size() / 2],
             1e3 * all.front(), 1e3 * all.back());
}

void measure(size_t parameters, size_t workers, int rounds) {
  const Peers peers(open_ranks, "peers_bench");
  const Slices slices(parameters, peers.rank(), peers.size());
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(parameters, 1.0F));
  std::vector<float> values(parameters, 1.0F);
  const std::vector<int> needed(slices.buckets(), 0);
  if (peers.leads()) {
    fmt::print("{} processes, {} workers each, {} parameters, {} rounds\n", peers.size(), workers,
               parameters, rounds);
  }
  const auto add = [&](GradientSum::Route route) {
    GradientSum sum(slices, {gradients.begin(), gradients.end()}, needed, peers.size(), route);
    Peers::InBackground(peers, sum).wait();
  };
  if (workers == 1) {
    report(peers, "gradients, direct", rounds, [&] { add(GradientSum::Route::direct); });
  }
  report(peers, "gradients, chain", rounds, [&] { add(GradientSum::Route::chain); });
  report(peers, "parameters", rounds, [&] { peers.gather(slices, values); });
  report(peers, "a number", rounds, [&] {
    std::vector<double> one(static_cast<size_t>(peers.size()));
    peers.complete(std::span(one));
  });
}

}  // namespace
}  // namespace residual::train

int main(int argc, char** argv) {
  CLI::App app("Measures what the processes of a run exchange at every update");
  size_t parameters = 61'000'000, workers = 1;
  int rounds = 5;
  app.add_option("--parameters", parameters, "number of elements in a gradient")
      ->capture_default_str();
  app.add_option("--workers", workers, "workers in each process")->capture_default_str();
  app.add_option("--rounds", rounds, "number of timed rounds")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    residual::train::measure(parameters, workers, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "peers_bench: {}\n", error.what());
    return 1;
  }
}
