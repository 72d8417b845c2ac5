// Measures what the processes of a run exchange at every update: the sum of the gradients and the
// parameters. Start it like `residual train --distributed`:
//
//   mpirun -n 2 peers_bench
//
// --backward SECONDS also measures how much of the gradients' way a backward pass hides: every
// worker waits for so long, block by block, and reports its progress as training does. It waits
// instead of computing, since hosts that share one machine's cores with their network would hide
// less.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <vector>

#include "nn/parameters.h"
#include "train/ranks/peers.h"
#include "train/ranks/ranks_module.h"
#include "train/ranks/stages.h"

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

// The base Transformer, whose embeddings and output share a matrix.
model::Config base() {
  model::Config config;
  config.source_vocabulary = config.target_vocabulary = 32'768;
  return config;
}

using Gradients = std::vector<std::vector<float>>;  // of the workers of this process

// What of the gradients' way a backward pass of the base model hides.
void measure_backward(const Peers& peers, size_t workers, int rounds, double seconds) {
  const model::Config config = base();
  const nn::Parameters parameters(config, at::kFloat, at::kCPU);
  const auto floats = static_cast<size_t>(parameters.values().numel());
  const Slices slices(floats, peers.rank(), peers.size());
  const std::vector<int> stages = bucket_stages(parameters, slices);
  const int last = last_stage(config);
  const std::vector<int> at_the_end(slices.buckets(), last);
  Gradients gradients(workers, std::vector<float>(floats, 1.0F));
  const auto update = [&](const std::vector<int>& needed) {
    GradientSum sum(slices, {gradients.begin(), gradients.end()}, needed, peers.size(),
                    workers == 1 ? GradientSum::Route::direct : GradientSum::Route::chain);
    Peers::InBackground exchange(peers, sum);
    for (int stage = 1; stage <= last; ++stage) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds / last));
      for (size_t w = 0; w < workers; ++w) sum.passed(w, stage);
    }
    exchange.wait();
  };
  if (peers.leads()) fmt::print("{} parameters, backward {:g} s\n", floats, seconds);
  report(peers, "backward, then gradients", rounds, [&] { update(at_the_end); });
  report(peers, "gradients meanwhile", rounds, [&] { update(stages); });
}

void measure_exchange(const Peers& peers, size_t parameters, size_t workers, int rounds) {
  const Slices slices(parameters, peers.rank(), peers.size());
  Gradients gradients(workers, std::vector<float>(parameters, 1.0F));
  std::vector<float> values(parameters, 1.0F);
  const std::vector<int> needed(slices.buckets(), 0);
  if (peers.leads()) fmt::print("{} parameters\n", parameters);
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
  double backward = 0;
  app.add_option("--parameters", parameters, "number of elements in a gradient")
      ->capture_default_str();
  app.add_option("--workers", workers, "workers in each process")->capture_default_str();
  app.add_option("--rounds", rounds, "number of timed rounds")->capture_default_str();
  app.add_option("--backward", backward,
                 "seconds of a backward pass of the base Transformer, with and without overlap");
  CLI11_PARSE(app, argc, argv);
  try {
    namespace train = residual::train;
    const train::Peers peers(train::open_ranks, "peers_bench");
    if (peers.leads()) {
      fmt::print("{} processes, {} workers each, {} rounds, ", peers.size(), workers, rounds);
    }
    if (backward > 0) {
      train::measure_backward(peers, workers, rounds, backward);
    } else {
      train::measure_exchange(peers, parameters, workers, rounds);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "peers_bench: {}\n", error.what());
    return 1;
  }
}
