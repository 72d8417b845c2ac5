// Measures how long several processes take to sum their gradients, and the throughput of each
// connection in one direction. Start it like `residual train --distributed`, once per process:
//
//   for r in 0 1; do RANK=$r WORLD_SIZE=2 MASTER_ADDR=localhost peers_bench & done; wait

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

#include "run/place.h"
#include "train/peers.h"

namespace residual::train {
namespace {

double seconds_of_a_sum(const Peers& peers, std::span<float> gradient) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::span<float>> own = {gradient};
  std::vector<char> here(static_cast<size_t>(peers.size()));
  peers.complete(std::span(here));  // synchronises the start
  const auto begin = Clock::now();
  peers.add_in_order(own);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(int64_t parameters, int rounds) {
  const Peers peers(run::place_from_environment(), "peers_bench");
  std::vector<float> gradient(static_cast<size_t>(parameters), 1.0F);
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) seconds.push_back(seconds_of_a_sum(peers, gradient));
  std::ranges::sort(seconds);
  const double median = seconds[seconds.size() / 2];
  if (!peers.leads()) return;
  fmt::print(
      "{} processes, {} parameters, {} sums: median {:.1f} ms ({:.1f} to {:.1f}), {:.2f} GB/s\n",
      peers.size(), parameters, rounds, 1e3 * median, 1e3 * seconds.front(), 1e3 * seconds.back(),
      4e-9 * static_cast<double>(parameters) / median);
}

}  // namespace
}  // namespace residual::train

int main(int argc, char** argv) {
  CLI::App app("Measures how long several processes take to sum their gradients");
  int64_t parameters = 61'000'000;
  int rounds = 15;
  app.add_option("--parameters", parameters, "number of elements in a gradient")
      ->capture_default_str();
  app.add_option("--rounds", rounds, "number of timed sums")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    residual::train::measure(parameters, rounds);
  } catch (const std::exception& error) {
    fmt::print(stderr, "peers_bench: {}\n", error.what());
    return 1;
  }
}
