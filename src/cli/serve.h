#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "cli/decoding.h"
#include "serve/options.h"

namespace residual::cli {

struct ServeCommand {
  ModelOptions model;
  serve::ServerOptions server;
  bool is_openapi = false;                 // print the document instead of serving
  std::optional<std::string> new_api_key;  // name of a key to make instead of serving
};

// Adds `residual serve` and its options. The command calls `run`, which needs the HTTP libraries.
void add_serve(CLI::App& root, const std::function<void(const ServeCommand&)>& run);

}  // namespace residual::cli
