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

// The command's options; `run` is called for what needs the libraries of HTTP.
void add_serve(CLI::App& root, const std::function<void(const ServeCommand&)>& run);

}  // namespace residual::cli
