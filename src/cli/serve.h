#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "cli/decoding.h"
#include "serve/server.h"

namespace residual::cli {

struct ServeCommand {
  ModelOptions model;
  serve::ServerOptions server;
  bool is_openapi = false;  // print the document instead of serving
};

// Adds `residual serve` and its options. The command calls `run`, which needs the HTTP libraries.
void add_serve(CLI::App& root, const std::function<void(const ServeCommand&)>& run);

}  // namespace residual::cli
