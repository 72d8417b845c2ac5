#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "probe/probe.h"

namespace residual::cli {

struct ProbeCommand {
  enum class What { models, theory, adam };

  What what = What::models;
  probe::SubjectOptions models;
  probe::TheoryOptions theory;
  probe::AdamOptions adam;
  fs::path output;
  std::vector<std::string> formats = {"html", "csv", "json", "svg"};
};

// Adds `residual probe` and its options. The command calls `run`, which needs LibTorch.
void add_probe(CLI::App& root, std::function<void(const ProbeCommand&)> run);

}  // namespace residual::cli
